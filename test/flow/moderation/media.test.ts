import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { ChildError } from '../../../server/media/children/run.ts'
import { BlobsAway } from '../../../server/platform/blobs/blobs.ts'
import { addSeconds } from '../../../server/platform/clock.ts'
import {
  animatedPicture,
  animatedPng,
  damaged,
  sampleMedia,
  samplePicture,
  withEdits,
} from '../../support/data/media.ts'
import type { Fault } from '../../support/upstream/engine-server/faults.ts'
import { type PipelineApp, silence, startPipelineApp, upload } from '../pipeline-app.ts'

const SGLANG =
  '{ kind: videos-api, dialect: sglang, base_url: "{engines}", references_base_url: "{engines}", model: MiniMax-H3 }'
const ENGINE = '{ kind: openai-moderations, base_url: "{engines}", timeout_seconds: 5 }'
const TRANSCRIPTION = 'transcription: { base_url: "{engines}", model: whisper-1, api_key: ears, timeout_seconds: 1 }'

let service: PipelineApp
let dir: string
let clips: Record<'mp4' | 'silent.mp4', string>
before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kinora-moderation-'))
  service = await startPipelineApp({ model: SGLANG, moderation: ENGINE, moderation_more: TRANSCRIPTION })
  clips = await sampleMedia(dir, ['mp4', 'silent.mp4'], { seconds: 8 })
})
after(async () => {
  await service.close()
  rmSync(dir, { recursive: true, force: true })
})
const answers = () => ({ ...service.engines.answers })
let usual: ReturnType<typeof answers> | null = null
afterEach(async () => {
  service.engines.unscript()
  service.engines.release()
  if (usual) Object.assign(service.engines.answers, usual)
  assert.deepEqual(await service.app.audit(), {})
})

/** Lets a job with these files run to its end; `pictures` are those the engine was shown, `sounds` those that were transcribed. */
async function run(references: Record<string, string[]>) {
  usual ??= answers()
  const before = service.engines.requests.length
  const named = Object.entries(references).map(([kind, ids]) => [kind, ids.map((file_id) => ({ file_id }))])
  const job = await service.drive(await service.submit({ references: Object.fromEntries(named) }))
  const asked = service.engines.requests.slice(before)
  const pictures = asked.flatMap(({ body }) => /data:image\/jpeg;base64,[^"]+/.exec(body.toString('latin1'))?.[0] ?? [])
  const sounds = asked.filter(({ path }) => path === '/v1/audio/transcriptions')
  return { job, pictures, sounds, started: asked.filter(({ path }) => path === '/v1/videos').length }
}

const clip = (path: string) => upload(service, readFileSync(path), { purpose: 'video' })
const image = async () => upload(service, await samplePicture('png'))
const sound = (seconds = 2) => upload(service, silence(seconds), { purpose: 'audio' })

async function recordOf(job_id: string) {
  const { rows } = await service.app.database.pool.query(
    'select verdict, file_sha256s, unjudged from moderation_records where job_id = $1',
    [job_id],
  )
  return rows[0]
}

test('a clip is judged by a frame of every second, and its soundtrack by what is said in it', async () => {
  const { job, pictures, sounds } = await run({ videos: [await clip(clips.mp4)] })
  assert.equal(job.status, 'completed')
  assert.equal(new Set(pictures).size, 8)
  assert.equal(sounds.length, 1)
  const [request] = sounds
  assert.equal(request!.headers.authorization, 'Bearer ears')
  const form = await new Response(new Uint8Array(request!.body), {
    headers: { 'content-type': request!.headers['content-type']! },
  }).formData()
  assert.deepEqual([form.get('model'), form.get('response_format')], ['whisper-1', 'json'])
  const wav = form.get('file') as File
  assert.ok(Math.abs(wav.size - 8 * 32_000) < 6000, `${wav.size} bytes of sound`)
  assert.deepEqual(await recordOf(job.id), {
    verdict: 'allow',
    file_sha256s: job.inputs.map(({ sha256 }) => sha256),
    unjudged: [],
  })
})

test('a clip with frames that cannot be decoded, or that ends before its length, is no usable reference', async () => {
  for (const bytes of [damaged(clips['silent.mp4'], 0.4, 0.6), damaged(clips['silent.mp4'], 0.55, 1)]) {
    const file_id = await upload(service, bytes, { purpose: 'video' })
    const { job, started } = await run({ videos: [file_id] })
    assert.deepEqual([job.error_code, started], ['invalid_reference_media', 0])
    assert.match(job.error_message!, new RegExp(`^The reference video 'upload-.*' \\(${file_id}\\) cannot be used: `))
    assert.match(job.error_message!, /decoded.* upload the new file\. Nothing was billed\.$/)
  }
})

test('a soundtrack that cannot be decoded to its end is no usable reference', async () => {
  const { mp3 } = await sampleMedia(dir, ['mp3'], { seconds: 6 })
  const audio = await upload(service, damaged(mp3, 0.4, 0.6), { purpose: 'audio' })
  const { job, started } = await run({ images: [await image()], audio: [audio] })
  assert.deepEqual([job.error_code, started], ['invalid_reference_media', 0])
})

test('every frame of an animated picture is judged up to 16, and 16 over all of its time beyond', async () => {
  for (const [bytes, frames] of [
    [await animatedPicture('gif', 3), 3],
    [await animatedPicture('webp', 5), 5],
    [await animatedPicture('gif', 40), 16],
    // The picture that is shown where animation is not, and each frame.
    [await animatedPng(3), 4],
  ] as const) {
    const { job, pictures } = await run({ images: [await upload(service, bytes)] })
    assert.equal(job.status, 'completed')
    assert.equal(pictures.length, frames)
    assert.equal(new Set(pictures).size, frames, 'pictures that differ')
  }
})

test('what is said in a reference sound or soundtrack blocks as a prompt would', async () => {
  usual ??= answers()
  service.engines.answers.transcription = () => 'something forbidden is said'
  for (const references of [
    { images: [await image()], audio: [await sound()] },
    { videos: [await clip(clips.mp4)] },
  ] as Array<Record<string, string[]>>) {
    const { job, started } = await run(references)
    assert.deepEqual([job.error_code, started], ['moderation_blocked', 0])
    const { verdict, file_sha256s } = await recordOf(job.id)
    assert.deepEqual([verdict, file_sha256s], ['block', [job.inputs.at(-1)!.sha256]])
  }
})

test('one blocked picture of many blocks its job, whichever it is', async () => {
  usual ??= answers()
  const images = await Promise.all(
    [1, 2, 3, 4, 5].map(async (n) => upload(service, await samplePicture('png', { width: 64 + n, height: 64 }))),
  )
  for (const blocked of [0, 2, 4]) {
    let seen = 0
    service.engines.answers.moderation = (asked) => {
      const isPicture = JSON.stringify(asked.input).includes('image_url')
      if (!isPicture || seen++ !== blocked) return usual!.moderation(asked)
      return { flagged: true, categories: { sexual: true }, category_applied_input_types: { sexual: ['image'] } }
    }
    const { job, started } = await run({ images })
    assert.deepEqual([job.error_code, started], ['moderation_blocked', 0], `picture ${blocked}`)
  }
})

test('of a sound file that contains pictures the sound alone is judged and sent', async () => {
  usual ??= answers()
  const disguised = readFileSync(clips.mp4)
  disguised.write('M4A ', disguised.indexOf('ftyp') + 4, 'latin1')
  const { job, pictures, sounds } = await run({
    images: [await image()],
    audio: [await upload(service, disguised, { purpose: 'audio' })],
  })
  assert.deepEqual([job.status, pictures.length, sounds.length], ['completed', 1, 1])
})

test('what an edit list hides is judged where it has to be sent, and the record names the bytes that were', async () => {
  usual ??= answers()
  // One key frame, at the start: nothing before the part that is shown can be left out.
  const edited = withEdits(readFileSync(clips.mp4), { start: 5, seconds: 3 })
  const { job, pictures } = await run({ videos: [await upload(service, edited, { purpose: 'video' })] })
  assert.deepEqual([job.status, new Set(pictures).size], ['completed', 8])
  const { sha256 } = job.inputs[0]!
  assert.notEqual(sha256, createHash('sha256').update(edited).digest('hex'))
  assert.deepEqual((await recordOf(job.id)).file_sha256s, [sha256])
})

test('a decoder that is killed or takes too long says nothing about the file: three tries, then moderation is unavailable', async () => {
  usual ??= answers()
  const file_id = await image()
  const { blobs } = service.app.ctx
  const { withLocalFile } = blobs
  let tries = 0
  blobs.withLocalFile = async () => {
    tries++
    throw new ChildError('time_limit', 'The work took longer than 60 s.')
  }
  try {
    const { job } = await run({ images: [file_id] })
    assert.deepEqual([job.error_code, tries], ['moderation_unavailable', 3])
  } finally {
    blobs.withLocalFile = withLocalFile
  }
})

test('a sound in which nothing is said needs no verdict on its words', async () => {
  usual ??= answers()
  service.engines.answers.transcription = () => ' \n'
  const { job } = await run({ images: [await image()], audio: [await sound()] })
  assert.equal(job.status, 'completed')
})

test('a transcription that fails three times fails the job closed', async () => {
  const references = { images: [await image()], audio: [await sound()] }
  const faults: Record<string, Fault> = {
    '503': { kind: 'status', status: 503, body: { text: 'a song' } },
    HTML: { kind: 'status', status: 200, body: '<html>a song</html>' },
    'no answer': { kind: 'stall' },
  }
  for (const [name, fault] of Object.entries(faults)) {
    service.engines.script({ path: '/v1/audio/transcriptions', times: 3, fault })
    const { job, sounds, started } = await run(references)
    assert.deepEqual([job.error_code, sounds.length, started], ['moderation_unavailable', 3, 0], name)
    service.engines.release()
  }
})

test('what was allowed in one attempt is not judged again in the next', async () => {
  const images = [await image(), await upload(service, await samplePicture('png', { width: 100, height: 80 }))]
  const references = { images, audio: [await sound(3)] }
  service.engines.script({ path: '/v1/audio/transcriptions', times: 2, fault: { kind: 'status', status: 503 } })
  const { job, pictures, sounds } = await run(references)
  assert.equal(job.status, 'completed')
  assert.deepEqual([pictures.length, sounds.length], [2, 3])
  const { rows } = await service.app.database.pool.query(
    'select org_id, count(*)::int as parts from moderation_verdicts where job_id = $1 group by org_id',
    [job.id],
  )
  assert.deepEqual(rows, [{ org_id: service.customer.org_id, parts: 4 }])
})

test('a job whose picture the bucket refuses waits, and fails once it has waited as long as a queue may be', async () => {
  const file_id = await upload(service, await samplePicture('png'))
  const id = await service.submit({ image_reference: [{ file_id, role: 'first_frame' }] })
  const { blobs, config } = service.app.ctx
  const { withLocalFile } = blobs
  blobs.withLocalFile = async () => {
    throw new BlobsAway('GetObject: 403 AccessDenied')
  }
  try {
    const { created_at } = await service.row(id)
    const waiting = await service.drive(
      id,
      () => service.app.clock.now() > addSeconds(created_at, config.limits.queue_seconds / 2),
    )
    assert.deepEqual([waiting.status, waiting.error_code], ['moderating', null])
    service.app.clock.advance(config.limits.queue_seconds)
    const job = await service.drive(id)
    assert.deepEqual([job.status, job.error_code, (await service.balance()).held], ['failed', 'internal_error', 0n])
  } finally {
    blobs.withLocalFile = withLocalFile
  }
})
