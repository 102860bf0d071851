import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { runFfmpeg } from '../../server/media/ffmpeg/run.ts'
import { probeMedia } from '../../server/media/probe/probe.ts'
import { repairOutput } from '../../server/media/repair.ts'
import { factsOf, framesOf, psnr, soundOf } from '../support/data/clip.ts'

const SIZE = { width: 768, height: 768 }
const TONE_HZ = 440
const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p']

let dir: string
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kinora-repair-'))
})
after(() => rm(dir, { recursive: true, force: true }))

/** A clip of one second with a tone, of the size ordered unless the codecs say otherwise. */
async function clip(name: string, codecs: readonly string[], { size = '768x768' } = {}): Promise<string> {
  const path = join(dir, name)
  const picture = ['-f', 'lavfi', '-i', `testsrc=s=${size}:r=8:d=1`]
  const tone = ['-f', 'lavfi', '-i', `sine=f=${TONE_HZ}:r=44100:d=1`]
  const run = { inputs: {}, args: [...picture, ...tone, ...codecs, name], outputs: { [name]: path } }
  await runFfmpeg(run, { time_limit_seconds: 60, work_dir: dir })
  return path
}

test('a clip as promised is left alone', async () => {
  const right = await clip('right.mp4', [...H264, '-c:a', 'aac'])
  const { path, changed } = await repairOutput(right, SIZE, { work_dir: dir })
  assert.deepEqual([path, changed], [right, false])
})

test('sound of another codec becomes AAC, is still heard, and the picture is copied', async () => {
  for (const codec of ['libmp3lame', 'alac']) {
    const given = await clip(`${codec}.mp4`, [...H264, '-c:a', codec])
    const { path, probe, changed } = await repairOutput(given, SIZE, { work_dir: dir })
    assert.deepEqual([changed, probe.video_codec, probe.audio_codec], [true, 'avc', 'aac'], codec)
    const { band } = await soundOf(path, TONE_HZ, dir)
    assert.ok(band > -40, `${codec}: ${band} dB`)
    const [[before], [after]] = [await framesOf(given, [4], dir), await framesOf(path, [4], dir)]
    assert.equal(psnr(before!, after!) > 90, true, codec)
  }
})

test('another container, codec or size becomes an MP4 with H.264 at 768p', async () => {
  const others = {
    'right.mov': [[...H264, '-c:a', 'aac'], '768x768'],
    'mpeg4.mp4': [['-c:v', 'mpeg4', '-q:v', '5', '-c:a', 'aac'], '768x768'],
    'small.mp4': [[...H264, '-c:a', 'aac'], '480x480'],
  } as const
  for (const [name, [codecs, size]] of Object.entries(others)) {
    const { path, changed } = await repairOutput(await clip(name, codecs, { size }), SIZE, { work_dir: dir })
    assert.equal(changed, true, name)
    assert.equal((await probeMedia(path)).media_type, 'video/mp4', name)
    const facts = await factsOf(path)
    assert.deepEqual([facts.size, facts.codecs, facts.index_first], [[768, 768], ['avc', 'aac'], true], name)
  }
})

test('what an engine wrote about a clip is not handed on, and picture and sound are copied', async () => {
  const workflow = JSON.stringify({ prompt: 'the engine’s own words' })
  const tags = {
    'comment.mp4': ['-metadata', `comment=${workflow}`],
    'prompt.mp4': ['-movflags', 'use_metadata_tags', '-metadata', `prompt=${workflow}`],
    'tool.mp4': ['-metadata', `encoding_tool=${workflow.repeat(4)}`, '-fflags', '+bitexact'],
  }
  for (const [name, metadata] of Object.entries(tags)) {
    const given = await clip(name, [...H264, '-c:a', 'aac', ...metadata])
    assert.ok((await readFile(given)).includes('own words'), name)
    const { path, changed } = await repairOutput(given, SIZE, { work_dir: dir })
    assert.equal(changed, true, name)
    assert.ok(!(await readFile(path)).includes('own words'), name)
    const [[before], [after]] = [await framesOf(given, [4], dir), await framesOf(path, [4], dir)]
    assert.equal(psnr(before!, after!) > 90, true, name)
    assert.equal((await repairOutput(path, SIZE, { work_dir: dir })).changed, false, name)
  }
})

test('H.264 that browsers do not play is encoded again', async () => {
  const codecs = ['-c:v', 'libx264', '-preset', 'ultrafast', '-c:a', 'aac']
  for (const format of ['yuv444p', 'yuv422p']) {
    const given = await clip(`${format}.mp4`, [...codecs, '-pix_fmt', format])
    const { path, changed } = await repairOutput(given, SIZE, { work_dir: dir })
    assert.equal(changed, true, format)
    assert.equal((await probeMedia(path, 'video', { whole: true })).plays_everywhere, true, format)
  }
})
