import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import sharp from 'sharp'
import { picturesOf, sampleFrames } from '../../../../server/media/frames/frames.ts'
import { ProbeError, probeFile } from '../../../../server/media/probe/probe.ts'
import { recognizeType } from '../../../../server/media/probe/recognize.ts'
import { repairOutput } from '../../../../server/media/repair.ts'
import { pngHeader, type SampleKind, sampleMedia, samplePicture, truncated } from '../../../support/data/media.ts'

const KINDS = ['mp4', 'mov', 'webm', 'silent.mp4', 'mp3', 'wav', 'flac', 'ogg', 'm4a', 'aac'] as const
let dir: string
let media: Record<SampleKind, string>

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kinora-media-test-'))
  media = await sampleMedia(dir, KINDS, { seconds: 3, width: 320, height: 180, rate: 8 })
})
after(() => rm(dir, { recursive: true, force: true }))

async function put(name: string, bytes: Uint8Array | string): Promise<string> {
  const path = join(dir, name)
  await writeFile(path, bytes)
  return path
}

test('every accepted type is recognized by its bytes, whatever the file is called', async () => {
  const expected: Record<SampleKind, [string, string]> = {
    mp4: ['video/mp4', 'video'],
    mov: ['video/quicktime', 'video'],
    webm: ['video/webm', 'video'],
    'silent.mp4': ['video/mp4', 'video'],
    mp3: ['audio/mpeg', 'audio'],
    wav: ['audio/wav', 'audio'],
    flac: ['audio/flac', 'audio'],
    ogg: ['audio/ogg', 'audio'],
    m4a: ['audio/mp4', 'audio'],
    aac: ['audio/aac', 'audio'],
  }
  for (const kind of KINDS) {
    const renamed = await put('anything.txt', await readFile(media[kind]))
    const [media_type, family] = expected[kind]
    assert.deepEqual(await recognizeType(renamed), { media_type, family }, kind)
  }
  for (const format of ['png', 'jpeg', 'webp', 'gif'] as const) {
    const path = await put('picture', await samplePicture(format))
    assert.deepEqual(await recognizeType(path), { media_type: `image/${format}`, family: 'image' })
  }
  assert.deepEqual(await recognizeType(await put('a.pdf', '%PDF-1.7\n%âãÏÓ\n1 0 obj\n<<>>\nendobj\n')), {
    media_type: 'application/pdf',
    family: null,
  })
  assert.equal((await recognizeType(await put('a.mp4', '<!doctype html><title>hi</title>'))).family, null)
})

test('clips and sounds are measured to a tenth of a second, with codecs and size', async () => {
  const codecs: Record<SampleKind, [string | null, string | null]> = {
    mp4: ['avc', 'aac'],
    mov: ['avc', 'aac'],
    webm: ['vp8', 'opus'],
    'silent.mp4': ['avc', null],
    mp3: [null, 'mp3'],
    wav: [null, 'pcm-s16'],
    flac: [null, 'flac'],
    ogg: [null, 'vorbis'],
    m4a: [null, 'aac'],
    aac: [null, 'aac'],
  }
  for (const kind of KINDS) {
    const probe = await probeFile(media[kind])
    const [video_codec, audio_codec] = codecs[kind]
    assert.deepEqual([probe.video_codec, probe.audio_codec], [video_codec, audio_codec], kind)
    assert.deepEqual([probe.width, probe.height], video_codec ? [320, 180] : [null, null], kind)
    assert.ok(Math.abs((probe.duration_seconds ?? 0) - 3) < 0.1, `${kind}: ${probe.duration_seconds}`)
  }
})

test('pictures are measured as they are seen: EXIF rotation counts', async () => {
  const upright = await samplePicture('jpeg', { width: 300, height: 200 })
  const turned = await sharp(upright).withMetadata({ orientation: 6 }).toBuffer()
  const { kind, width, height } = await probeFile(await put('turned.jpg', turned), 'image')
  assert.deepEqual([kind, width, height], ['image', 200, 300])
  const gif = await probeFile(await put('a.gif', await samplePicture('gif')), 'image')
  assert.deepEqual([gif.width, gif.height, gif.duration_seconds], [320, 240, null])
})

test('unusable media are rejected with the reason', async () => {
  const cases: [string, string, string][] = [
    ['too_large', await put('huge.png', pngHeader(60_000, 60_000)), 'a header of 60,000 × 60,000'],
    ['unrecognized', await put('page.mp4', '<!doctype html><html></html>'), 'HTML named mp4'],
    ['unreadable', await truncated(media.mp4, 0.3), 'an MP4 without its index'],
    ['unrecognized', await put('empty.mp3', ''), 'nothing'],
  ]
  for (const [fault, path, what] of cases) {
    await assert.rejects(probeFile(path), (error) => error instanceof ProbeError && error.fault === fault, what)
  }
  await assert.rejects(probeFile(media.mp3, 'video'), { fault: 'wrong_kind' })
})

test('frames of a clip are spread over all of it and bounded in number and size', async () => {
  const three = await sampleFrames(media.mp4, { work_dir: dir, edge: 200 })
  assert.equal(three.length, 3)
  const { width, format } = await sharp(three[0]).metadata()
  assert.deepEqual([width, format], [200, 'jpeg'])
  assert.equal((await sampleFrames(media.webm, { work_dir: dir, max: 2 })).length, 2)
  const detailed = await sampleMedia(dir, ['mp4'], { seconds: 2, width: 1280, height: 720, rate: 4, name: 'detailed' })
  assert.equal(
    (await sampleFrames(detailed.mp4, { work_dir: dir, edge: 1280 })).length,
    2,
    'many different values in one picture',
  )
  assert.deepEqual(
    (await readdir(dir)).filter((name) => name.startsWith('media-')),
    [],
    'temporary directories are gone',
  )
})

test('a shrunk picture is an upright JPEG within its edge; a damaged one is refused', async () => {
  const big = await put('big.png', await samplePicture('png', { width: 2000, height: 1000 }))
  const [shrunk, ...others] = await picturesOf(big)
  assert.equal(others.length, 0)
  const { width, height, format } = await sharp(shrunk).metadata()
  assert.deepEqual([width, height, format], [1024, 512, 'jpeg'])
  await assert.rejects(picturesOf(await put('huge.png', pngHeader(60_000, 60_000))), { name: 'ChildError' })
})

test('an output that meets the contract is unchanged; any other is repaired', async () => {
  const size = { width: 1366, height: 768 }
  const repaired = await repairOutput(media['silent.mp4'], size, { work_dir: dir })
  assert.equal(repaired.changed, true)
  assert.deepEqual(
    [repaired.probe.width, repaired.probe.height, repaired.probe.video_codec, repaired.probe.audio_codec],
    [1366, 768, 'avc', 'aac'],
  )
  assert.ok(Math.abs((repaired.probe.duration_seconds ?? 0) - 3) < 0.15)
  assert.deepEqual(await repairOutput(repaired.path, size), {
    path: repaired.path,
    probe: repaired.probe,
    tracks: repaired.tracks,
    changed: false,
  })

  const other = await repairOutput(media.webm, { width: 768, height: 768 }, { work_dir: dir })
  assert.deepEqual([other.probe.width, other.probe.height, other.probe.video_codec], [1366, 768, 'avc'])
  await assert.rejects(repairOutput(media.mp3, size), { name: 'ProbeError' })
  await assert.rejects(repairOutput(await put('x.mp4', 'not a video at all'), size), { name: 'ProbeError' })
})
