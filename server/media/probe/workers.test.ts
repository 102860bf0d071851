import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, mock, test } from 'node:test'
import { pngHeader } from '../../../test/support/data/media.ts'
import { tempDir } from '../../../test/support/service.ts'
import { ProbeError, probeFile } from './probe.ts'

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
    const waiting = probeFile(pipe, 'image', { owner: 'waiting' }).catch((error: unknown) => error)
    mock.timers.tick(60_000)
    const writer = await open(pipe, 'w')
    await writer.close()
    assert.equal(((await waiting) as ProbeError).fault, 'unreadable', 'by what was read, not by the time it took')
  } finally {
    mock.timers.reset()
  }
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
