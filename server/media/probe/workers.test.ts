import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, mock, test } from 'node:test'
import { pngHeader } from '../../../test/support/data/media.ts'
import { tempDir } from '../../../test/support/service.ts'
import { ProbeError, type ProbeFailure, probeFile } from './probe.ts'
import { askThread } from './thread.ts'

const temp = tempDir()
after(temp.remove)

test('a file that takes long delays the other files of its owner, and leaves a worker to the rest', async () => {
  // A probe of a pipe goes on for as long as nobody writes to it.
  const pipe = join(temp.path, 'pipe')
  execFileSync('mkfifo', [pipe])
  const picture = join(temp.path, 'picture.png')
  await writeFile(picture, pngHeader(640, 360))
  const answered: string[] = []
  const slow = probeFile(pipe, 'image', { owner: 'one' }).catch((error: unknown) => {
    answered.push('slow')
    return error
  })
  const behind = probeFile(picture, 'image', { owner: 'one' }).then(() => answered.push('behind'))
  const others = Array.from({ length: 5 }, (_, n) =>
    probeFile(picture, 'image', { owner: `other-${n}` }).then(() => answered.push('other')),
  )
  await Promise.all(others)
  const writer = await open(pipe, 'w')
  await writer.close()
  assert.ok((await slow) instanceof ProbeError)
  await behind
  assert.deepEqual(answered, ['other', 'other', 'other', 'other', 'other', 'slow', 'behind'])
})

test('a probe that gets no processor time is not held against its file, however long it waits', async () => {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  try {
    const pipe = join(temp.path, 'waiting-pipe')
    execFileSync('mkfifo', [pipe])
    const waiting = askThread({ do: 'probe', path: pipe, kind: 'image', whole: false })
    mock.timers.tick(60_000)
    const writer = await open(pipe, 'w')
    await writer.close()
    const { fault } = ((await waiting) as { reply: ProbeFailure }).reply as { fault: string }
    assert.notEqual(fault, 'time_limit', 'by what was read, not by the time it took')
  } finally {
    mock.timers.reset()
  }
})

test('a file whose table of samples needs more memory than there is ends its own probe alone', async () => {
  const path = join(temp.path, 'endless.mp4')
  await writeFile(path, soundOfSamples(200_000_000))
  const error: unknown = await probeFile(path, 'audio', { owner: 'one' }).catch((thrown: unknown) => thrown)
  assert.ok(error instanceof ProbeError && error.fault === 'unreadable', String(error))
  const picture = join(temp.path, 'after.png')
  await writeFile(picture, pngHeader(640, 360))
  assert.equal((await probeFile(picture, 'image', { owner: 'one' })).width, 640)
})

test('a wait for a turn ends with its signal, and a file that is gone leaves its place to the next', async () => {
  const pipe = join(temp.path, 'other-pipe')
  execFileSync('mkfifo', [pipe])
  const picture = join(temp.path, 'other.png')
  await writeFile(picture, pngHeader(640, 360))
  const slow = probeFile(pipe, 'image', { owner: 'one' }).catch(() => null)
  const left = new AbortController()
  const waiting = probeFile(picture, 'image', { owner: 'one', signal: left.signal })
  left.abort(new Error('left'))
  await assert.rejects(waiting, { message: 'left' })
  await assert.rejects(probeFile(picture, 'image', { owner: 'one', signal: left.signal }), { message: 'left' })
  await assert.rejects(probeFile(join(temp.path, 'gone'), 'image', { owner: 'two' }), { message: /missing/ })
  assert.equal((await probeFile(picture, 'image', { owner: 'two' })).width, 640)
  const writer = await open(pipe, 'w')
  await writer.close()
  assert.equal(await slow, null)
})

/** An MP4 of FLAC whose sizes of samples have no bits, so that any number of them needs no bytes. */
function soundOfSamples(count: number): Buffer {
  const unity = words(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
  const info = Buffer.alloc(34)
  info.writeUInt16BE(4096, 0)
  info.writeUInt16BE(4096, 2)
  info.writeUInt32BE((8000 * 4096 + 240) >>> 0, 10)
  const config = box('dfLa', words(0), Buffer.from([0x80, 0, 0, 34]), info)
  const flac = box('fLaC', words(0, 1, 0, 0, 0x10010, 0, 8000 * 65536), config)
  const sizes = box('stz2', words(0, 0, count))
  const times = [box('stts', words(0, 1, count, 1)), box('stsc', words(0, 1, 1, count, 1))]
  const table = box('stbl', box('stsd', words(0, 1), flac), ...times, sizes, box('stco', words(0, 1, 0)))
  const data = box('dinf', box('dref', words(0, 1), box('url ', words(1))))
  const handler = box('hdlr', words(0, 0), Buffer.from('soun'), words(0, 0, 0), Buffer.from('s\0'))
  const media = box(
    'mdia',
    box('mdhd', words(0, 0, 0, 90_000, 450_000, 0x55c40000)),
    handler,
    box('minf', box('smhd', words(0, 0)), data, table),
  )
  const track = box('trak', box('tkhd', words(7, 0, 0, 1, 0, 450_000, 0, 0, 0, 0x1000000), unity, words(0, 0)), media)
  const movie = box(
    'mvhd',
    words(0, 0, 0, 90_000, 450_000, 0x10000, 0x1000000, 0, 0),
    unity,
    words(0, 0, 0, 0, 0, 0, 2),
  )
  const type = box('ftyp', Buffer.from('M4A '), words(512), Buffer.from('M4A isomiso2'))
  return Buffer.concat([type, box('moov', movie, track), box('mdat', Buffer.alloc(64))])
}

function box(name: string, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([words(content.length + 8), Buffer.from(name, 'latin1'), content])
}

function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  for (const [i, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, 4 * i)
  return bytes
}
