import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { allSweeps } from '../../server/assembly/background.ts'
import { samplePicture } from '../support/data/media.ts'
import { send } from '../support/http/send.ts'
import { type PipelineApp, startPipelineApp, upload } from './pipeline-app.ts'

const SGLANG =
  '{ kind: videos-api, dialect: sglang, base_url: "{engines}", model: MiniMax-H3, signed_url_ttl_seconds: 600 }'
const DAY = 86_400

let service: PipelineApp
before(async () => {
  service = await startPipelineApp({ model: SGLANG })
})
after(() => service.close())
afterEach(async () => {
  service.engines.unscript()
  service.engines.conduct({ polls: 0, status: 'completed' })
  assert.deepEqual(await service.app.audit(), {})
})

/** A job with a first frame whose render has begun, and the URL its engine was given. */
async function submitted({ seconds_later = 0, ...options }: { expires_after?: number; seconds_later?: number } = {}) {
  service.engines.conduct({ polls: 1000 })
  const picture = await samplePicture('png')
  const file_id = await upload(service, picture, options)
  const key = await blobOf(file_id)
  service.app.clock.advance(seconds_later)
  const seen = service.engines.requests.length
  const id = await service.submit({ image_reference: [{ file_id, role: 'first_frame' }] })
  await service.drive(id, ({ status }) => status === 'in_progress')
  const start = service.engines.requests.slice(seen).find(({ method }) => method === 'POST')!
  const [{ uri }] = (start.json as { conditions: [{ uri: string }] }).conditions
  return { id, file_id, uri, key, picture: Buffer.from(picture) }
}

const call = (method: string, path: string) => send(service.app, method, path, service.customer)
const statusesFor = async (file_id: string) => [
  (await call('GET', `/v1/files/${file_id}`)).status,
  (await call('GET', `/v1/files/${file_id}/content`)).status,
  (await call('DELETE', `/v1/files/${file_id}`)).status,
]
async function served(uri: string): Promise<Buffer | number> {
  const response = await fetch(uri)
  const bytes = Buffer.from(await response.arrayBuffer())
  return response.status === 200 ? bytes : response.status
}
async function sweep(): Promise<void> {
  for (const each of allSweeps(service.app.ctx, service.app.ctx.db)) await each.run()
}
async function blobOf(file_id: string): Promise<string> {
  const { rows } = await service.app.database.pool.query('select blob_key from files where id = $1', [file_id])
  return rows[0].blob_key
}
/** Ends the job; by the clock, a URL of it would have been good for a second more. */
async function timeOut(id: string): Promise<void> {
  service.app.clock.advance(600)
  assert.equal((await service.drive(id)).error_code, 'render_timeout')
  service.app.clock.advance(-2)
}
const isKept = async (key: string) =>
  service.app.ctx.blobs.open(key).then(
    (stream) => stream.destroy() !== null,
    () => false,
  )

test('a file deleted after the submission is gone for people at once, and for the engine when the job has ended', async () => {
  const { id, file_id, uri, picture, key } = await submitted()
  assert.equal((await call('DELETE', `/v1/files/${file_id}`)).status, 200)
  await sweep()
  assert.deepEqual(await statusesFor(file_id), [404, 404, 404])
  assert.equal(
    (await call('GET', '/v1/files')).body.data.some((file: { id: string }) => file.id === file_id),
    false,
  )
  assert.deepEqual(await served(uri), picture)

  await timeOut(id)
  assert.equal(await served(uri), 403)
  assert.equal(await isKept(key), true)
  await sweep()
  assert.equal(await isKept(key), false)
})

test('a file that expires after the submission, and the sweeps of two days, take nothing from the engine', async () => {
  const { id, file_id, uri, picture, key } = await submitted({ expires_after: 3600, seconds_later: 3500 })
  service.app.clock.advance(300)
  await sweep()
  assert.deepEqual(await statusesFor(file_id), [404, 404, 404])
  assert.deepEqual(await served(uri), picture)
  service.app.clock.advance(2 * DAY)
  await sweep()
  assert.equal(await isKept(key), true)
  await timeOut(id)
  await sweep()
  assert.equal(await isKept(key), false)
})

test('a URL of a job that has ended serves nothing, though its file is still there', async () => {
  const { id, file_id, uri } = await submitted()
  await timeOut(id)
  assert.equal(await served(uri), 403)
  await sweep()
  assert.equal((await call('GET', `/v1/files/${file_id}`)).status, 200)
})

test('two jobs with one file: its bytes stay until the second has ended', async () => {
  service.engines.conduct({ polls: 1 })
  const file_id = await upload(service, await samplePicture('png'))
  const key = await blobOf(file_id)
  const submit = () => service.submit({ image_reference: [{ file_id, role: 'first_frame' }] })
  const first = await submit()
  await service.drive(first, ({ status }) => status === 'in_progress')
  service.engines.conduct({ polls: 1000 })
  const second = await service.submit({ prompt: 'Another boat', image_reference: [{ file_id, role: 'first_frame' }] })
  await service.drive(second, ({ status }) => status === 'in_progress')
  await call('DELETE', `/v1/files/${file_id}`)
  assert.equal((await service.drive(first)).status, 'completed')
  await sweep()
  assert.equal(await isKept(key), true)
  await timeOut(second)
  await sweep()
  assert.equal(await isKept(key), false)
})

test('a deletion and a start at the same moment end in one of two ways: a job with its bytes, or no render', async () => {
  for (let round = 0; round < 8; round++) {
    const file_id = await upload(service, await samplePicture('png'))
    service.engines.script({ method: 'POST', path: '/v1/videos', fault: { kind: 'status', status: 503 } })
    const id = await service.submit({
      prompt: `A boat, round ${round}`,
      image_reference: [{ file_id, role: 'first_frame' }],
    })
    await service.drive(id, ({ status, tries }) => status === 'queued' && tries > 0)
    const started = service.engines.started()
    service.app.clock.set((await service.row(id)).next_run_at)
    const [job] = await Promise.all([service.drive(id), call('DELETE', `/v1/files/${file_id}`)])
    const begun = service.engines.started() - started
    assert.deepEqual([job.error_code, begun], job.status === 'completed' ? [null, 1] : ['reference_unavailable', 0])
  }
})
