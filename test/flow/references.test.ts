import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import sharp from 'sharp'
import { allSweeps } from '../../server/assembly/background.ts'
import { probeMedia } from '../../server/media/probe/probe.ts'
import type { LogFields } from '../../server/platform/log.ts'
import type { VideoJobRow } from '../../server/videos/store.ts'
import { damageBlob } from '../support/bucket/storage.ts'
import { sampleMedia, samplePicture, turnedPhoto, withEdits } from '../support/data/media.ts'
import { send } from '../support/http/send.ts'
import { COST, OPENING, type PipelineApp, silence, startPipelineApp, upload } from './pipeline-app.ts'

const SGLANG =
  '{ kind: videos-api, dialect: sglang, base_url: "{engines}", references_base_url: "{engines}", model: MiniMax-H3 }'

let service: PipelineApp
let dir: string
before(async () => {
  service = await startPipelineApp({ model: SGLANG })
  dir = mkdtempSync(join(tmpdir(), 'kinora-references-'))
})
after(async () => {
  await service.close()
  rmSync(dir, { recursive: true, force: true })
})
afterEach(async () => {
  // Only completed jobs are charged.
  const { balance, held, charges } = await service.balance()
  assert.deepEqual({ balance, held }, { balance: OPENING - BigInt(charges) * COST, held: 0n })
  service.engines.unscript()
  assert.deepEqual(await service.app.audit(), {})
})

const BUSY = { method: 'POST', path: '/v1/videos', fault: { kind: 'status', status: 503 } } as const
const frame = (file_id: string) => ({ image_reference: [{ file_id, role: 'first_frame' }] })

/** Submits a job, calls `happen` while the engine is busy, and returns how it ends and how often a render was started. */
async function endOf(body: Record<string, unknown>, happen: () => Promise<unknown>) {
  const before = { started: service.engines.started(), ...(await service.balance()) }
  service.engines.script({ ...BUSY })
  const id = await service.submit(body)
  await service.drive(id, ({ status, tries }) => status === 'queued' && tries > 0)
  await happen()
  const job = await service.drive(id)
  const { balance, held } = await service.balance()
  assert.deepEqual({ balance, held }, { balance: before.balance, held: 0n })
  return {
    code: job.error_code,
    started: service.engines.started() - before.started,
    statuses: await service.statuses(id),
  }
}

const UNAVAILABLE = {
  code: 'reference_unavailable',
  started: 0,
  statuses: ['moderating', 'translating', 'queued', 'failed'],
}

test('a file that is deleted before its render starts fails the job, and no render starts', async () => {
  const file_id = await upload(service, await samplePicture('png'))
  const remove = () => send(service.app, 'DELETE', `/v1/files/${file_id}`, service.customer)
  assert.deepEqual(await endOf(frame(file_id), remove), UNAVAILABLE)
})

test('a file that expires before its render starts fails the job, and no render starts', async () => {
  const file_id = await upload(service, await samplePicture('png'), { expires_after: 3600 })
  service.app.clock.advance(3590)
  assert.deepEqual(await endOf(frame(file_id), async () => service.app.clock.advance(10)), UNAVAILABLE)
})

test('bytes that changed after they were moderated are never given to an engine', async () => {
  const file_id = await upload(service, await samplePicture('png'))
  const { rows } = await service.app.database.pool.query('select blob_key from files where id = $1', [file_id])
  const key: string = rows[0].blob_key
  const tamper = () => damageBlob(service.app.dir, key)
  assert.deepEqual(await endOf(frame(file_id), tamper), UNAVAILABLE)
})

test('a file deleted once its render has started changes nothing', async () => {
  service.engines.conduct({ polls: 2 })
  const file_id = await upload(service, await samplePicture('png'))
  const id = await service.submit(frame(file_id))
  await service.drive(id, ({ status }) => status === 'in_progress')
  await send(service.app, 'DELETE', `/v1/files/${file_id}`, service.customer)
  assert.equal((await service.drive(id)).status, 'completed')
  service.engines.conduct({ polls: 0 })
})

test('reference sounds of 2.0 and 15.0 seconds are accepted, those of 1.9 and 15.2 seconds fail the job before any render', async () => {
  const image = await upload(service, await samplePicture('jpeg'))
  for (const [seconds, ends] of [
    [1.9, 'failed'],
    [2, 'completed'],
    [15, 'completed'],
    [15.2, 'failed'],
  ] as const) {
    const audio = await upload(service, silence(seconds), { purpose: 'audio' })
    const started = service.engines.started()
    const references = { images: [{ file_id: image }], audio: [{ file_id: audio }] }
    const job = await service.drive(await service.submit({ references }))
    assert.equal(job.status, ends, `${seconds} s`)
    assert.equal(job.error_code, ends === 'failed' ? 'invalid_reference_media' : null)
    assert.equal(service.engines.started() - started, ends === 'failed' ? 0 : 1)
  }
})

test('a reference clip of 1.9 seconds fails the job, one of 2.2 seconds is accepted', async () => {
  for (const [seconds, ends] of [
    [1.9, 'failed'],
    [2.2, 'completed'],
  ] as const) {
    const { mp4 } = await sampleMedia(dir, ['mp4'], { seconds, name: `clip-${seconds}` })
    const video = await upload(service, readFileSync(mp4), { purpose: 'video' })
    const job = await service.drive(await service.submit({ references: { videos: [{ file_id: video }] } }))
    assert.deepEqual([job.status, job.error_code], [ends, ends === 'failed' ? 'invalid_reference_media' : null])
  }
})

/** What the engine was sent as the only reference of a job: it fetches a signed URL. */
async function sentOf(body: Record<string, unknown>): Promise<{ bytes: Buffer; uri: string; job: VideoJobRow }> {
  const seen = service.engines.requests.length
  service.engines.conduct({ polls: 2 })
  const id = await service.submit(body)
  const job = await service.drive(id, ({ status }) => status === 'in_progress')
  const start = service.engines.requests.slice(seen).find(({ method }) => method === 'POST')!
  const [{ uri }] = (start.json as { conditions: [{ uri: string }] }).conditions
  const bytes = Buffer.from(await (await fetch(uri)).arrayBuffer())
  await service.drive(id)
  service.engines.conduct({ polls: 0 })
  return { bytes, uri, job }
}

test('of a clip with an edit list the engine is sent what is shown, also when the file is deleted meanwhile', async () => {
  const { mp4 } = await sampleMedia(dir, ['mp4'], { seconds: 8, name: 'edited', width: 64, height: 48 })
  const edited = withEdits(readFileSync(mp4), { seconds: 3 })
  const video = await upload(service, edited, { purpose: 'video' })
  const { bytes, uri, job } = await sentOf({ references: { videos: [{ file_id: video }] } })
  assert.match(new URL(uri).pathname, /\/signed\/file\.mp4$/)
  const path = join(dir, 'sent.mp4')
  writeFileSync(path, bytes)
  const { spans } = await probeMedia(path, 'video')
  assert.deepEqual(
    [spans.video, spans.audio].map(([span]) => Math.round(span!.seconds)),
    [3, 3],
  )
  assert.equal(createHash('sha256').update(bytes).digest('hex'), job.inputs[0]!.sha256)
  const { body } = await send(service.app, 'GET', `/v1/files/${video}`, service.customer)
  assert.equal(body.bytes, edited.length)

  const sweep = async () => {
    for (const each of allSweeps(service.app.ctx, service.app.ctx.db)) await each.run()
  }
  await sweep()
  const stored = await service.stored()
  assert.equal((await send(service.app, 'DELETE', `/v1/files/${video}`, service.customer)).status, 200)
  await sweep()
  assert.equal(await service.stored(), stored - 2, 'the upload and its copy')
})

test('a photo with a rotation tag is sent turned, with the size that was measured', async () => {
  const photo = await upload(service, await turnedPhoto({ width: 64, height: 48 }))
  const { bytes, job } = await sentOf({ ...frame(photo), aspect_ratio: 'Auto' })
  const { width, height, orientation = 1 } = await sharp(bytes).metadata()
  assert.deepEqual([width, height, orientation], [48, 64, 1])
  assert.deepEqual([job.width, job.height], [768, 1024])
})

test('a job that fails for a reference says which, what is wrong and what to do, and the log has one line without its name', async () => {
  const image = await upload(service, await samplePicture('jpeg'))
  const audio = await upload(service, silence(15.6), { purpose: 'audio' })
  const { log } = service.app.ctx
  const { warn } = log
  const lines: LogFields[] = []
  log.warn = (event, fields = {}) => void (event === 'input_rejected' && lines.push(fields))
  try {
    const id = await service.submit({ references: { images: [{ file_id: image }], audio: [{ file_id: audio }] } })
    const { error_message } = await service.drive(id)
    assert.match(
      error_message!,
      new RegExp(
        `^The reference sound 'upload-.*' \\(${audio}\\) cannot be used: it is 15.6 s long, and clips and sounds must last 2 to 15 s\\. Upload one of that length\\. Nothing was billed\\.$`,
      ),
    )
    const detail = 'reference_audio: length of 15.60 s'
    assert.deepEqual(lines, [{ video_id: id, file_id: audio, code: 'invalid_reference_media', detail }])
  } finally {
    log.warn = warn
  }
})

test('a picture whose header ends in the middle cannot be uploaded, so no job refers to it', async () => {
  const picture = await samplePicture('png')
  for (const bytes of [8, 24, 33]) await assert.rejects(upload(service, picture.subarray(0, bytes)), /"invalid_file"/)
})

test('an engine that refuses a reference fails the job with the code for it', async () => {
  const file_id = await upload(service, await samplePicture('png'))
  const body = { error: { code: 'invalid_image', message: 'cannot read it' } }
  service.engines.script({ ...BUSY, fault: { kind: 'status', status: 400, body } })
  const job = await service.drive(await service.submit(frame(file_id)))
  assert.equal(job.error_code, 'invalid_reference_media')
})

test('the URLs an engine is given serve the very bytes, at the address meant for engines, until the job has ended', async () => {
  const picture = await samplePicture('png', { from: '#ff0000' })
  const sound = silence(3)
  const image = await upload(service, picture)
  const audio = await upload(service, sound, { purpose: 'audio' })
  service.app.ctx.site.engine_url = service.app.url.replace('127.0.0.1', 'localhost')
  const seen = service.engines.requests.length
  service.engines.conduct({ polls: 2 })
  const id = await service.submit({ references: { images: [{ file_id: image }], audio: [{ file_id: audio }] } })
  await service.drive(id, ({ status }) => status === 'in_progress')
  const start = service.engines.requests.slice(seen).find(({ method }) => method === 'POST')!
  const { conditions } = start.json as { conditions: Array<{ type: string; uri: string }> }
  assert.deepEqual(
    conditions.map(({ type }) => type),
    ['image', 'audio'],
  )
  for (const [i, bytes] of [picture, sound].entries()) {
    const { uri } = conditions[i]!
    assert.ok(uri.startsWith(`${service.app.ctx.site.engine_url}/v1/files/`))
    const response = await fetch(uri)
    assert.equal(response.status, 200)
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), Buffer.from(bytes))
    const ttl = Number(new URL(uri).searchParams.get('expires')) - Math.floor(service.app.clock.now().getTime() / 1000)
    assert.ok(ttl > 590 && ttl <= 600, `${ttl} s: the time limit of the render`)
  }
  assert.equal((await service.drive(id)).status, 'completed')
  for (const { uri } of conditions) assert.equal((await fetch(uri)).status, 403)
  service.engines.conduct({ polls: 0 })
})
