import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import sharp from 'sharp'
import { enterChild, isChildQueueFull } from '../../../server/media/children/concurrency-limit.ts'
import { ANY_AGE } from '../../../server/platform/blobs/blobs.ts'
import { armFailpoint } from '../../../server/platform/failpoint.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'
import { assertRefused, submit } from '../../support/http/videos-app.ts'

const CONFIG = `
plans: { free: { max_concurrent_renders: 100, max_stored_bytes: 10000000 } }
video_models: [{ id: instant-1, engine: instant, per_second: "0.010000" }]
`

let app: TestApp
before(async () => {
  app = await startApp({ config: CONFIG })
})
after(() => app.close())
afterEach(async () => assert.deepEqual(await app.audit(), {}))

async function completed(person: TestPerson): Promise<string> {
  const { body } = await submit(app, person)
  await app.tick()
  return body.id
}
const lastFrame = (person: TestPerson, id: string): Promise<HttpResponse> => {
  const caller = { cookie: person.cookie, headers: { origin: app.url } }
  return send(app, 'POST', `/console/videos/${id}/last_frame`, caller)
}
const filesOf = async (person: TestPerson): Promise<Array<{ id: string }>> =>
  (await send(app, 'GET', '/v1/files', person)).body.data
const storedFiles = async (person: TestPerson): Promise<number> =>
  (await send(app, 'GET', '/console/usage?from=0&to=1&group_by=day', { cookie: person.cookie })).body.storage.files

/** Blobs in the storage, whichever it is, and what is staged. */
async function blobs(): Promise<number> {
  let count = readdirSync(join(app.dir, 'blobs', 'staging'), { recursive: true }).length
  for await (const _ of app.ctx.blobs.list({ older_than: ANY_AGE })) count += 1
  return count
}

test('200: a picture of the size of the clip, counted as an upload of the caller, with which a job begins', async () => {
  const person = await newCustomer(app)
  const caller = await newColleague(app, person.org_id)
  const id = await completed(person)
  const { status, body } = await lastFrame(caller, id)
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(
    [body.object, body.purpose, body.filename],
    ['file', 'vision', `A paper boat on a calm lake, ${id}-last-frame.png`],
  )
  const makers = await send(app, 'GET', `/console/makers?ids=${body.id}`, { cookie: person.cookie })
  assert.equal(makers.body.data[0].user_id, caller.user_id)
  assert.equal(await storedFiles(person), body.bytes + 4096)
  const content = await fetch(`${app.url}/v1/files/${body.id}/content`, {
    headers: { authorization: `Bearer ${person.key}` },
  })
  const { format, width, height } = await sharp(Buffer.from(await content.arrayBuffer())).metadata()
  const row = await app.database.db
    .selectFrom('video_jobs')
    .select(['width', 'height'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  assert.deepEqual({ format, width, height }, { format: 'png', ...row })
  const image_reference = [{ file_id: body.id, role: 'first_frame' }]
  assert.equal((await submit(app, person, { image_reference })).status, 200)
  await app.tick()
})

test('the same file the second time, and a new one once it was deleted', async () => {
  const person = await newCustomer(app)
  const id = await completed(person)
  const first = await lastFrame(person, id)
  assert.deepEqual((await lastFrame(await newColleague(app, person.org_id), id)).body, first.body)
  assert.equal((await filesOf(person)).length, 1)
  await send(app, 'DELETE', `/v1/files/${first.body.id}`, person)
  const second = await lastFrame(person, id)
  assert.notEqual(second.body.id, first.body.id)
  assert.deepEqual(
    (await filesOf(person)).map((file) => file.id),
    [second.body.id],
  )
})

test('one file for several requests at once, with nothing left of the others', async () => {
  const person = await newCustomer(app)
  const id = await completed(person)
  const before = await blobs()
  const answers = await Promise.all(Array.from({ length: 4 }, () => lastFrame(person, id)))
  for (const { status, body } of answers) assert.deepEqual([status, body.id], [200, answers[0]!.body.id])
  assert.equal((await filesOf(person)).length, 1)
  assert.equal(await blobs(), before + 1)
})

/** What a request that lost its process looks like from inside. */
class Crash extends Error {
  readonly code = '57P01'
}

test('a crash after the file was stored and before the job knows it: the file is there as an upload, and the next request makes another', async (t) => {
  t.after(() => armFailpoint(undefined))
  const person = await newCustomer(app)
  const id = await completed(person)
  armFailpoint('last_frame_created', () => {
    throw new Crash()
  })
  assert.equal((await lastFrame(person, id)).status, 503)
  const [stored] = await filesOf(person)
  assert.ok(stored)
  armFailpoint(undefined)
  const { body: made } = await lastFrame(person, id)
  assert.notEqual(made.id, stored.id)
  assert.equal((await lastFrame(person, id)).body.id, made.id)
  assert.equal((await send(app, 'GET', `/v1/files/${stored.id}`, person)).status, 200)
})

test('409 that names the file and the remedy when the one that another request made is deleted meanwhile', async (t) => {
  const person = await newCustomer(app)
  const id = await completed(person)
  const client = await app.database.pool.connect()
  t.after(() => client.release())
  await client.query('begin')
  await client.query("update video_jobs set last_frame_file_id = 'file-gone' where id = $1", [id])
  const drawn = lastFrame(person, id)
  const waits = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
  while ((await client.query(waits)).rowCount !== 1) await new Promise(setImmediate)
  await client.query('commit')
  const refused = await drawn
  assert.equal(refused.status, 409)
  assert.match(refused.body.error.message, /file of the last frame was deleted.*Send the request again/)
  assert.deepEqual(await filesOf(person), [])
  assert.equal((await lastFrame(person, id)).status, 200)
})

test('404 for a clip that is deleted while its last frame is made, and nothing of the file is left', async (t) => {
  const person = await newCustomer(app)
  const id = await completed(person)
  const before = await blobs()
  const client = await app.database.pool.connect()
  t.after(async () => {
    await client.query('rollback')
    client.release()
  })
  const waiting = async (count: number): Promise<void> => {
    const query = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    while ((await client.query(query)).rowCount !== count) await new Promise(setImmediate)
  }
  // Both wait for the row, in this order.
  await client.query('begin')
  await client.query('select from video_jobs where id = $1 for update', [id])
  const deleted = send(app, 'DELETE', `/v1/videos/${id}`, person)
  await waiting(1)
  const drawn = lastFrame(person, id)
  await waiting(2)
  await client.query('rollback')
  assert.equal((await deleted).status, 200)
  assertRefused(await drawn, { status: 404, code: 'not_found' })
  assert.deepEqual(await filesOf(person), [])
  assert.equal(await blobs(), before - 1)
})

test('400 while the job is not completed, 404 for another organization’s, a malformed id and a deleted job', async () => {
  const person = await newCustomer(app)
  const { body: running } = await submit(app, person)
  assertRefused(await lastFrame(person, running.id), { status: 400, code: 'invalid_request_error' })
  await app.tick()
  const gone = { status: 404, code: 'not_found' }
  assertRefused(await lastFrame(await newCustomer(app), running.id), gone)
  for (const id of ['video_none', 'x', `${running.id}x`]) assertRefused(await lastFrame(person, id), gone)
  assert.equal((await send(app, 'DELETE', `/v1/videos/${running.id}`, person)).status, 200)
  assertRefused(await lastFrame(person, running.id), gone)
  assert.deepEqual(await filesOf(person), [])
})

test('413 without room, before anything is made', async () => {
  const person = await newCustomer(app)
  const id = await completed(person)
  const before = await blobs()
  await app.database.pool.query("insert into stored_bytes (org_id, kind, bytes) values ($1, 'files', 10000000)", [
    person.org_id,
  ])
  const full = await lastFrame(person, id)
  assert.deepEqual([full.status, full.body.error.code], [413, 'storage_limit_exceeded'])
  await app.database.pool.query('delete from stored_bytes where org_id = $1 and bytes = 10000000', [person.org_id])
  assert.equal(await blobs(), before)
})

test('404 with the reason for a clip of which no picture can be made, and 503 with a time while too many are being made', async () => {
  const person = await newCustomer(app)
  const [id, other] = [await completed(person), await completed(person)]
  const bytes = (async function* () {
    yield Buffer.alloc(5000, 'noise')
  })()
  const { key } = await app.ctx.blobs.write(bytes, { max_bytes: 5000 })
  const { rows } = await app.database.pool.query('select blob_key from video_jobs where id = $1', [id])
  await app.database.pool.query('update video_jobs set blob_key = $2 where id = $1', [id, key])
  assertRefused(await lastFrame(person, id), {
    status: 404,
    code: 'not_found',
    message: 'The last frame of this video could not be made. The video itself is available.',
  })
  await app.database.pool.query('update video_jobs set blob_key = $2 where id = $1', [id, rows[0].blob_key])
  const waiting: Array<Promise<() => void>> = []
  while (!isChildQueueFull('variant')) waiting.push(enterChild('variant'))
  const busy = await lastFrame(person, other)
  assert.deepEqual([busy.status, busy.headers.get('retry-after')], [503, '5'])
  for (const entered of waiting) void entered.then((leave) => leave())
  await Promise.all(waiting)
  assert.equal((await lastFrame(person, other)).status, 200)
})
