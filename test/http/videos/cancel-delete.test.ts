import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'
import { assertRefused, storedFile, submit } from '../../support/http/videos-app.ts'

const CONFIG = `
plans:
  free: { max_concurrent_renders: 1000 }
video_models:
  - { id: instant-1, engine: { kind: instant, script: [{ prompt_includes: breaks, render: permanent }] }, per_second: "0.010000" }
`

let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp({ config: CONFIG })
  person = await newCustomer(app)
})
after(() => app.close())
afterEach(async () => assert.deepEqual(await app.audit(), {}))

const cancel = (id: string): Promise<HttpResponse> => send(app, 'POST', `/v1/videos/${id}/cancel`, person)
const remove = (id: string): Promise<HttpResponse> => send(app, 'DELETE', `/v1/videos/${id}`, person)
const read = (id: string): Promise<HttpResponse> => send(app, 'GET', `/v1/videos/${id}`, person)
const balance = async () => (await send(app, 'GET', '/console/balance', { cookie: person.cookie })).body

const EARLIER = ['moderating', 'translating', 'queued', 'in_progress'] as const
const CONFLICT = { status: 409, code: 'conflict' }

/** A job brought to a status; the ones that have not ended are put there without their pipeline. */
async function jobAs(status: string): Promise<string> {
  const prompt = status === 'failed' ? 'it breaks' : 'it works'
  const { id } = (await submit(app, person, { prompt })).body
  if (status === 'completed' || status === 'failed') {
    await app.tick()
    assert.equal((await read(id)).body.status, status)
  } else if (status === 'canceled') await cancel(id)
  else {
    for (const next of EARLIER.slice(1, EARLIER.indexOf(status as 'queued') + 1)) {
      await app.database.pool.query(
        'update video_jobs set status = $1, moderated_at = $3, queued_at = $3, render_started_at = $3 where id = $2',
        [next, id, app.clock.now()],
      )
    }
  }
  return id
}

for (const status of EARLIER) {
  test(`${status}: delete is 409, cancel is 200 with the job canceled, its money free and nothing charged`, async () => {
    const before = await balance()
    const id = await jobAs(status)
    assert.notDeepEqual(await balance(), before)
    const refused = await remove(id)
    assertRefused(refused, CONFLICT)
    assert.equal(refused.headers.get('x-should-retry'), 'false')
    const { status: code, body } = await cancel(id)
    assert.equal(code, 200)
    const expires_at = Math.floor(app.clock.now().getTime() / 1000) + 30 * 86_400
    assert.deepEqual(
      [body.status, body.error, body.completed_at, body.expires_at],
      ['canceled', null, null, expires_at],
    )
    assert.deepEqual((await read(id)).body, body)
    assert.deepEqual(await balance(), before)
    await app.tick()
    assert.equal((await read(id)).body.status, 'canceled')
  })
}

test('canceled: cancel again is 200 and changes nothing, delete is 200', async () => {
  const id = await jobAs('canceled')
  const first = (await read(id)).body
  app.clock.advance(100)
  assert.deepEqual((await cancel(id)).body, first)
  assert.deepEqual((await remove(id)).body, { id, object: 'video', deleted: true })
})

for (const status of ['completed', 'failed'] as const) {
  test(`${status}: cancel is 409 and changes nothing, delete is 200 and leaves no trace of the job`, async () => {
    const id = await jobAs(status)
    const before = (await read(id)).body
    const refused = await cancel(id)
    assertRefused(refused, CONFLICT)
    assert.equal(refused.headers.get('x-should-retry'), 'false')
    assert.deepEqual((await read(id)).body, before)
    const money = await balance()
    const answer = await remove(id)
    assert.deepEqual([answer.status, answer.body], [200, { id, object: 'video', deleted: true }])
    for (const again of [await read(id), await remove(id), await cancel(id)])
      assertRefused(again, { status: 404, code: 'not_found' })
    const { body } = await send(app, 'GET', '/v1/videos?limit=100', person)
    assert.ok(!body.data.some((job: { id: string }) => job.id === id))
    assert.deepEqual(await balance(), money)
  })
}

test('deletion takes the bytes of the video, and leaves uploads, ledger and moderation record', async () => {
  const file_id = await storedFile(app, person)
  const { id } = (await submit(app, person)).body
  await app.tick()
  const { db } = app.database
  const { blob_key } = await db
    .selectFrom('video_jobs')
    .select('blob_key')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  assert.ok(await app.ctx.blobs.size(blob_key!))
  await remove(id)
  await assert.rejects(app.ctx.blobs.size(blob_key!), { name: 'BlobMissing' })
  assert.equal((await send(app, 'GET', `/v1/files/${file_id}`, person)).status, 200)
  const count = async (table: 'ledger_entries' | 'moderation_records') =>
    (await db.selectFrom(table).select('id').where('job_id', '=', id).execute()).length
  assert.deepEqual([await count('ledger_entries'), await count('moderation_records')], [1, 1])
})

test('a colleague and a console login cancel and delete as well as the person who submitted', async () => {
  const id = await jobAs('moderating')
  const browser = { cookie: person.cookie }
  assert.equal((await send(app, 'POST', `/v1/videos/${id}/cancel`, browser)).status, 200)
  const foreign = { ...browser, headers: { 'sec-fetch-site': 'cross-site' } }
  assertRefused(await send(app, 'DELETE', `/v1/videos/${id}`, foreign), {
    status: 403,
    code: 'csrf_failed',
    type: 'permission_error',
  })
  assert.equal((await send(app, 'DELETE', `/v1/videos/${id}`, browser)).status, 200)
})

test('a body or a content type on cancel and delete is ignored', async () => {
  for (const [type, text] of [
    ['application/json', '{'],
    ['text/plain', 'x'],
    ['application/json', ''],
  ] as const) {
    const id = await jobAs('moderating')
    const headers = { authorization: `Bearer ${person.key}`, 'content-type': type }
    const canceled = await fetch(`${app.url}/v1/videos/${id}/cancel`, { method: 'POST', headers, body: text })
    assert.equal(canceled.status, 200, await canceled.text())
    const deleted = await fetch(`${app.url}/v1/videos/${id}`, { method: 'DELETE', headers, body: text })
    assert.equal(deleted.status, 200, await deleted.text())
  }
})
