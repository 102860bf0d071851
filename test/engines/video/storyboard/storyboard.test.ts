import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import sharp from 'sharp'
import type { VideoEngine } from '../../../../server/engines/video/contract.ts'
import { storyboardVideo } from '../../../../server/engines/video/storyboard/adapter.ts'
import { limitChildren } from '../../../../server/media/children/concurrency-limit.ts'
import { chooseRunner } from '../../../../server/media/ffmpeg/choose.ts'
import { sweepScratch } from '../../../../server/media/scratch.ts'
import { factsOf, finish, framesOf, inputFrom, psnr, renderTo, requestOf, soundOf } from '../../../support/data/clip.ts'
import { sampleMedia, samplePicture } from '../../../support/data/media.ts'
import { childrenOf } from '../../../support/processes.ts'

const native = await chooseRunner('native').catch(() => null)
const PROMPT = 'A lighthouse at dusk. Waves roll in below, slow and heavy. <d>Who is there?</d>'
const TONE_HZ = 997
const signal = new AbortController().signal
let dir: string
let engine: VideoEngine

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kinora-storyboard-test-'))
  engine = storyboardVideo({ work_dir: join(dir, 'work'), runner: { kind: 'wasm' } })
})
after(async () => {
  await engine.close?.()
  await rm(dir, { recursive: true, force: true })
})

async function put(name: string, bytes: Uint8Array | string): Promise<string> {
  await writeFile(join(dir, name), bytes)
  return join(dir, name)
}

function facts(width: number, height: number) {
  return { size: [width, height], codecs: ['avc', 'aac'], frames: 96, rate: 24, audio_seconds: 4, index_first: true }
}

/** Small, where the size is not what is tested: encoding is what these tests cost. */
function smallRequest(fields: Parameters<typeof requestOf>[0], width: number, height: number) {
  return requestOf({ ...fields, width, height })
}

test('a prompt becomes an H.264 and AAC clip at 24 fps, the same bytes each time, and another job another clip; progress only rises', async () => {
  const request = smallRequest({ job_id: 'same', original_prompt: '夕暮れの灯台。<d>誰かいるの？</d>' }, 384, 384)
  const seen: number[] = []
  const clip = join(dir, 'a.mp4')
  const first = await renderTo(clip, engine, request, seen)
  assert.deepEqual(await factsOf(clip), facts(384, 384))
  assert.deepEqual(
    seen,
    [...seen].sort((a, b) => a - b),
  )
  assert.ok(seen.some((progress) => progress > 0) && seen.every((progress) => progress <= 99), seen.join())
  const sound = await soundOf(clip, TONE_HZ, dir)
  assert.ok(sound.all > -50, `music is heard: ${sound.all} dB`)
  assert.ok(sound.band < -45, `and is not the tone of the other tests: ${sound.band} dB`)

  const again = await renderTo(join(dir, 'b.mp4'), engine, { ...request, attempt_id: 'another attempt' })
  assert.ok(first.equals(again), 'bytes differ')
  const other = await renderTo(join(dir, 'c.mp4'), engine, {
    ...request,
    job_id: 'other',
    attempt_id: 'attempt of another',
  })
  assert.ok(!first.equals(other))
})

test('the clip begins and ends with exactly the given pictures, and moves in between', async () => {
  const [first, last] = [
    await put('first.png', await samplePicture('png', { width: 1500, height: 1000 })),
    await put('last.jpg', await samplePicture('jpeg', { width: 700, height: 900, from: '#902020', to: '#20c0a0' })),
  ]
  const inputs = [await inputFrom('last_frame', last), await inputFrom('first_frame', first)]
  const clip = join(dir, 'frames.mp4')
  const request = { job_id: 'frames', original_prompt: PROMPT, aspect_ratio: '16:9', inputs } as const
  await renderTo(clip, engine, smallRequest(request, 682, 384))
  assert.deepEqual(await factsOf(clip), facts(682, 384))
  const [begin, middle, end] = await framesOf(clip, [0, 30, 95], dir)
  const expected = (path: string) =>
    sharp(path).resize({ width: 682, height: 384, fit: 'cover' }).removeAlpha().raw().toBuffer()
  const [atStart, atEnd] = [psnr(begin!, await expected(first)), psnr(end!, await expected(last))]
  assert.ok(atStart > 34 && atEnd > 34, `first ${atStart} dB, last ${atEnd} dB`)
  assert.ok(psnr(middle!, begin!) < 30, 'nothing moves')
})

test('a single frame is reproduced exactly at its own end of the clip', async () => {
  const picture = await put('lone.png', await samplePicture('png', { width: 900, height: 900 }))
  const sizes = { '3:4': [384, 512], '9:16': [384, 682] } as const
  for (const [role, aspect_ratio, frame] of [
    ['first_frame', '3:4', 0],
    ['last_frame', '9:16', 95],
  ] as const) {
    const clip = join(dir, `${role}.mp4`)
    const inputs = [await inputFrom(role, picture)]
    const [width, height] = sizes[aspect_ratio]
    const request = { job_id: role, original_prompt: PROMPT, aspect_ratio, inputs }
    await renderTo(clip, engine, smallRequest(request, width, height))
    assert.deepEqual(await factsOf(clip), facts(width, height))
    const expected = await sharp(picture).resize({ width, height, fit: 'cover' }).removeAlpha().raw().toBuffer()
    const [shown] = await framesOf(clip, [frame], dir)
    const likeness = psnr(shown!, expected)
    assert.ok(likeness > 34, `${role}: ${likeness} dB`)
  }
})

test('reference pictures and clips are cut together and reference sound is heard', async () => {
  const { mp4, ogg } = await sampleMedia(dir, ['mp4', 'ogg'], { seconds: 2, name: 'ref', tone_hz: TONE_HZ })
  const picture = await put('ref.webp', await samplePicture('webp', { width: 400, height: 600 }))
  const inputs = [
    await inputFrom('reference_image', picture),
    await inputFrom('reference_video', mp4),
    await inputFrom('reference_audio', ogg),
  ]
  const clip = join(dir, 'references.mp4')
  const request = requestOf({ job_id: 'references', original_prompt: PROMPT, aspect_ratio: 'Auto', inputs })
  await renderTo(clip, engine, request)
  assert.deepEqual(await factsOf(clip), facts(768, 1152))
  const sound = await soundOf(clip, TONE_HZ, dir)
  assert.ok(sound.band > -32, `the tone is at ${sound.band} dB`)
  const [early, late] = await framesOf(clip, [6, 80], dir)
  assert.ok(psnr(early!, late!) < 20, 'picture and clip are both shown')
})

test('a reference that cannot be decoded is rejected as reference media', async () => {
  const whole = Buffer.from(await samplePicture('png', { width: 600, height: 400 }))
  const picture = await put('torn.png', whole.subarray(0, whole.length >> 1))
  const noise = await put('noise.mp4', Buffer.alloc(5000, 'noise'))
  const probe = {
    kind: 'video',
    width: 320,
    height: 240,
    duration_seconds: 4,
    video_codec: 'avc',
    audio_codec: null,
  } as const
  const cases = [await inputFrom('reference_image', picture), await inputFrom('reference_video', noise, probe)]
  for (const [index, input] of cases.entries()) {
    const state = await finish(engine, requestOf({ job_id: `torn-${index}`, inputs: [input] }))
    assert.equal(state.state, 'failed')
    assert.deepEqual(state.state === 'failed' && [state.error.kind, state.error.subject], [
      'rejected',
      'reference_media',
    ])
  }
  const long = await inputFrom('reference_audio', noise, { ...probe, kind: 'audio', duration_seconds: 15.2 })
  const start = engine.start(requestOf({ job_id: 'long', inputs: [cases[0]!, long] }), signal)
  await assert.rejects(start, { kind: 'rejected', subject: 'reference_media' })
})

test('one attempt is one render; a canceled one is killed, forgotten and leaves no file', {
  skip: process.platform === 'linux' ? false : 'reads /proc: run it on Linux',
}, async () => {
  limitChildren(2)
  const own = storyboardVideo({ work_dir: join(dir, 'cancel'), runner: { kind: 'wasm' } })
  const request = smallRequest({ job_id: 'cancel', seconds: 15 }, 384, 384)
  const before = childrenOf(process.pid)
  const ticket = await own.start(request, signal)
  assert.deepEqual(await own.start(request, signal), ticket)
  const queued = await own.start(requestOf({ job_id: 'queued' }), signal)
  const children = childrenOf(process.pid).filter((pid) => !before.includes(pid))
  assert.equal(children.length, 1, 'one child for two renders')
  assert.deepEqual(await own.poll(queued, signal), { state: 'running', progress: 0, next_poll_seconds: 1 })
  assert.equal(await own.cancel(queued), true)
  assert.equal(await own.cancel(ticket), true)
  for (const pid of children) assert.equal(await isAlive(pid), false, 'a cancelled render has ended')
  assert.equal((await own.poll(ticket, signal)).state, 'lost')
  assert.equal(await own.cancel(ticket), true)
  assert.deepEqual(await readdir(join(dir, 'cancel')), [])
  await own.close?.()
})

test('a render that waits for another draws nothing meanwhile', async () => {
  limitChildren(2)
  const own = storyboardVideo({ work_dir: join(dir, 'waiting'), runner: { kind: 'wasm' } })
  const ticket = await own.start(smallRequest({ job_id: 'first' }, 384, 384), signal)
  const waiting = await own.start(smallRequest({ job_id: 'waiting' }, 384, 384), signal)
  const progress = async () => {
    const state = await own.poll(ticket, signal)
    return state.state === 'running' ? state.progress! : 100
  }
  while ((await progress()) < 12) await pause(20)
  assert.deepEqual(await own.poll(waiting, signal), { state: 'running', progress: 0, next_poll_seconds: 1 })
  await own.close?.()
})

test('a ticket of an earlier process is lost, and its renderer died with it', {
  skip: process.platform === 'linux' ? false : 'reads /proc: run it on Linux',
}, async () => {
  const work_dir = join(dir, 'orphan')
  const script = `
    import { storyboardVideo } from ${JSON.stringify(new URL('../../../../server/engines/video/storyboard/adapter.ts', import.meta.url).href)}
    const engine = storyboardVideo({ work_dir: ${JSON.stringify(work_dir)}, runner: { kind: 'wasm' } })
    const request = ${JSON.stringify({ ...smallRequest({ job_id: 'orphan', seconds: 15 }, 384, 384), inputs: [] })}
    const ticket = await engine.start(request, new AbortController().signal)
    while (((await engine.poll(ticket)).progress ?? 100) < 12) await new Promise((later) => setTimeout(later, 20))
    console.log(JSON.stringify(ticket))`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ticket = JSON.parse(await firstLine(parent))
  const children = childrenOf(parent.pid!)
  assert.equal(children.length, 1)
  parent.kill('SIGKILL')
  await gone(children)
  assert.equal((await engine.poll(ticket, signal)).state, 'lost')
  assert.equal((await readdir(work_dir)).length, 1)

  await sweepScratch(work_dir)
  assert.equal((await readdir(work_dir)).length, 0, 'what the killed process left was swept')
})

test('a native ffmpeg renders the same clip', {
  skip: native === null && 'no ffmpeg here: install FFmpeg, or set FFMPEG_PATH',
}, async () => {
  const own = storyboardVideo({ work_dir: join(dir, 'native'), runner: native! })
  const clip = join(dir, 'native.mp4')
  const seen: number[] = []
  await renderTo(clip, own, requestOf({ job_id: 'same', original_prompt: '夕暮れの灯台。<d>誰かいるの？</d>' }), seen)
  await own.close?.()
  assert.deepEqual(await factsOf(clip), facts(768, 768))
  assert.deepEqual(
    seen,
    [...seen].sort((a, b) => a - b),
  )
})

/** Waits until none of the processes exists; the test's own time limit is the bound. */
async function gone(pids: readonly number[]): Promise<void> {
  for (const pid of pids) while (await isAlive(pid)) await pause(20)
}

async function isAlive(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return status !== '' && !/\) [ZX] /.test(status)
}

async function firstLine(child: ChildProcess): Promise<string> {
  let text = ''
  for await (const part of child.stdout!) {
    text += part
    if (text.includes('\n')) break
  }
  return text
}
