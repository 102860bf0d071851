import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import sharp from 'sharp'
import { checkPicture, probeFile } from './probe/probe.ts'

const dir = await mkdtemp(join(tmpdir(), 'kinora-pictures-'))
after(() => rm(dir, { recursive: true, force: true }))
const still = sharp({ create: { width: 1, height: 1, channels: 3, background: 'teal' } })

/** A part of a RIFF container. */
function chunk(name: string, body: Uint8Array): Buffer {
  const head = Buffer.from(`${name}0000`)
  head.writeUInt32LE(body.length, 4)
  return Buffer.concat([head, body])
}

async function webp(frames: number): Promise<Buffer> {
  const picture = (await still.clone().webp({ lossless: true }).toBuffer()).subarray(12)
  const frame = chunk('ANMF', Buffer.concat([Buffer.alloc(16), picture]))
  const size = Buffer.from([2, 0, 0, 0, 0, 0, 0, 0, 0, 0])
  const parts = [Buffer.from('WEBP'), chunk('VP8X', size), chunk('ANIM', Buffer.alloc(6))]
  return chunk('RIFF', Buffer.concat([...parts, ...Array<Buffer>(frames).fill(frame)]))
}

async function gif(frames: number): Promise<Buffer> {
  const start = (await still.clone().gif().toBuffer()).subarray(0, -1)
  const frame = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0])
  return Buffer.concat([start, ...Array<Buffer>(frames).fill(frame), Buffer.from([0x3b])])
}

for (const [name, animation] of Object.entries({ WebP: webp, GIF: gif })) {
  test(`a ${name} of 100,000 frames is refused before a decoder reads them; one of 1,000 is a picture`, async () => {
    const path = join(dir, name)
    const few = await animation(1000)
    await checkPicture(few)
    await writeFile(path, few)
    assert.equal((await probeFile(path, 'image')).width, 1)
    const many = await animation(100_000)
    await writeFile(path, many)
    await assert.rejects(probeFile(path, 'image'), { fault: 'too_many_frames' })
    const before = process.cpuUsage()
    await assert.rejects(checkPicture(many), { fault: 'too_many_frames' })
    const { user, system } = process.cpuUsage(before)
    assert.ok(user + system < 200_000, `${user + system} µs of processor time`)
  })
}
