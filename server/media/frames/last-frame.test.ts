import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import sharp from 'sharp'
import { encoded } from '../../../test/support/data/media.ts'
import { withLastFrame } from './last-frame.ts'

const dir = mkdtempSync(join(tmpdir(), 'kinora-last-frame-'))
after(() => rmSync(dir, { recursive: true, force: true }))

const H264 = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p'
type ClipOptions = { rate?: number; blue?: number; input?: string; more?: string }

/** A red clip of three seconds whose frames from number `blue` on are blue, with `more` options. */
async function clip(name: string, { rate = 24, blue = 3 * rate - 1, input = '', more = '' }: ClipOptions = {}) {
  const picture = `color=c=red:s=160x90:r=${rate}:d=3,drawbox=c=blue:t=fill:enable='gte(n\\,${blue})'`
  return (await encoded(dir, `-f lavfi -i ${picture} ${input} ${H264} ${more} ${name}`, [name]))[name]!
}

/** Size and format of the last frame, and whether it is blue. */
async function lastOf(path: string) {
  return withLastFrame(path, { work_dir: dir }, async (picture) => {
    const { format, width, height } = await sharp(picture).metadata()
    const { channels } = await sharp(picture).stats()
    return { format, width, height, isBlue: channels[2]!.mean > 200 && channels[0]!.mean < 60 }
  })
}

const BLUE = { format: 'png', width: 160, height: 90, isBlue: true }

test('the last frame in its full size, also where the sound is longer or the frames are far apart', async () => {
  assert.deepEqual(await lastOf(await clip('plain.mp4')), BLUE)
  const sound = { input: '-f lavfi -i sine=d=5', more: '-c:a aac' }
  assert.deepEqual(await lastOf(await clip('sound.mp4', sound)), BLUE)
  assert.deepEqual(await lastOf(await clip('slow.mp4', { rate: 1 })), BLUE)
})

test('the frame before the last one is not taken for it', async () => {
  assert.equal((await lastOf(await clip('red.mp4', { blue: 1000 }))).isBlue, false)
})

test('a clip that breaks off has the last frame that can be decoded; what is no clip is rejected', async () => {
  const args = `-f lavfi -i testsrc=s=160x90:r=24:d=3 ${H264} -movflags +faststart whole.mp4`
  const whole = readFileSync((await encoded(dir, args, ['whole.mp4']))['whole.mp4'])
  const broken = join(dir, 'broken.mp4')
  writeFileSync(broken, whole.subarray(0, Math.floor(whole.length * 0.7)))
  assert.deepEqual(await lastOf(broken), { ...BLUE, isBlue: false })
  const text = join(dir, 'text.mp4')
  writeFileSync(text, 'no clip')
  await assert.rejects(lastOf(text), { name: 'ProbeError' })
})
