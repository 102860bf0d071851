import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import type { VideoEngine } from '../../../server/engines/video/contract.ts'
import { soleEngine } from '../../../server/engines/video/pool.ts'
import { armFailpoint } from '../../../server/platform/failpoint.ts'
import { SCRIPTED_CONFIG, scriptedEngines } from '../../laws/scripted-app.ts'
import {
  newColleague,
  newCustomer,
  startApp,
  type TestApp,
  type TestPerson,
  videoBody,
} from '../../support/http/app.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'
import { assertInvalid, assertRefused, jobsOf, storedFile, submit } from '../../support/http/videos-app.ts'

/** What one clip of four seconds costs. */
const COST = 4_000_000n
const SLOTS = 7
const CONFIG = `
plans: { free: { max_concurrent_renders: ${SLOTS} }, small: { max_concurrent_renders: 2 } }
video_models: [{ id: instant-1, engine: instant, per_second: "0.010000" }]
`

let app: TestApp
before(async () => {
  app = await startApp({ config: CONFIG })
})
after(() => app.close())
afterEach(async () => {
  armFailpoint(undefined)
  assert.deepEqual(await app.audit(), {})
})

type Sent = { count?: unknown; key?: string } & Record<string, unknown>

function vary(person: TestPerson, { key, ...changes }: Sent = {}, on: { url: string } = app): Promise<HttpResponse> {
  const headers = { origin: on.url, ...(key && { 'idempotency-key': key }) }
  const body = videoBody({ count: 3, ...changes })
  return send(on, 'POST', '/console/videos/variations', { cookie: person.cookie, headers }, body)
}

const REUSED = { status: 422, code: 'idempotency_key_reused', param: 'Idempotency-Key' }
const TOO_FEW_SLOTS = { status: 429, code: 'concurrency_limit_exceeded', type: 'rate_limit_error' }

async function account(person: TestPerson): Promise<{ held: bigint; running: number }> {
  const query = app.database.db.selectFrom('accounts').select(['held', 'running']).where('org_id', '=', person.org_id)
  return query.executeTakeFirstOrThrow()
}

for (const count of [1, 2, 3, 4])
  test(`200: ${count} jobs of one request, each with its id, hold and slot, of the person who sent them`, async () => {
    const person = await newCustomer(app)
    const { status, body } = await vary(person, { count, prompt: `Set of ${count}` })
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual(Object.keys(body), ['object', 'data'])
    const ids: string[] = body.data.map(({ id }: { id: string }) => id)
    assert.equal(new Set(ids).size, count)
    assert.deepEqual(ids, ids.toSorted())
    for (const each of body.data) {
      const read = await send(app, 'GET', `/v1/videos/${each.id}`, person)
      assert.deepEqual(read.body, each)
      assert.equal(each.cost, '0.04000000')
    }
    assert.deepEqual(await account(person), { held: COST * BigInt(count), running: count })
    const { rows } = await app.database.pool.query('select user_id, key_id from video_jobs where id = any($1)', [ids])
    for (const row of rows) assert.deepEqual(row, { user_id: person.user_id, key_id: null })
    await app.tick()
    assert.deepEqual(await account(person), { held: 0n, running: 0 })
  })

test('200: jobs know what they were made from, of the same organization only, and forget it once that is gone', async () => {
  const person = await newCustomer(app)
  const outsider = await newCustomer(app)
  const origin = (id: string, as = person) =>
    send(app, 'GET', `/console/videos/${id}/origin`, { cookie: as.cookie, headers: { origin: app.url } })
  const first = (await submit(app, person)).body.id
  const { body } = await vary(person, { count: 2, made_from: first })
  const [older, newest] = body.data.map(({ id }: { id: string }) => id)
  const known = { id: older, object: 'video_origin', made_from: first, followed_by: null }
  assert.deepEqual((await origin(older)).body, known)
  assert.deepEqual((await origin(first)).body, { ...known, id: first, made_from: null, followed_by: newest })
  assert.equal((await origin(first, outsider)).status, 404)
  assert.equal((await origin('video_%00')).status, 404)
  assert.ok((await vary(outsider, { count: 1, made_from: '\0' })).status < 500)
  for (const made_from of [first, 'video_none']) {
    const [theirs] = (await vary(outsider, { count: 1, made_from })).body.data
    assert.equal((await origin(theirs.id, outsider)).body.made_from, null)
  }
  assert.equal((await origin(first)).body.followed_by, newest)
  assertInvalid(await vary(person, { made_from: 'x'.repeat(65) }), 'made_from')
  assertInvalid(await submit(app, person, { made_from: first }), 'made_from')
  await app.tick()
  assert.equal((await send(app, 'DELETE', `/v1/videos/${first}`, person)).status, 200)
  assert.deepEqual((await origin(older)).body, { ...known, made_from: null })
})

test('the engine is given another seed for each job of a set', async () => {
  const engines = scriptedEngines({ render: 'succeed', moderation: 'allow' })
  const { engine } = engines.video.get('outside-1')!.members[0]!
  const seeds: number[] = []
  const start: VideoEngine['start'] = (request, ...rest) => {
    seeds.push(request.seed)
    return engine.start(request, ...rest)
  }
  const video = new Map([
    ['outside-1', soleEngine({ engine: { ...engine, start }, model: 'outside-1', name: 'seeds' })],
  ])
  const seeded = await startApp({ config: SCRIPTED_CONFIG(4), engines: { ...engines, video } })
  try {
    assert.equal((await vary(await newCustomer(seeded), { count: 4, model: 'outside-1' }, seeded)).status, 200)
    await seeded.tick()
    assert.deepEqual([seeds.length, new Set(seeds).size], [4, 4])
  } finally {
    await seeded.close()
  }
})

test('400 for a count that is no 1 to 4, and whatever POST /v1/videos rejects', async () => {
  const person = await newCustomer(app)
  for (const count of [undefined, null, 0, 5, 2.5, '3', [3]]) assertInvalid(await vary(person, { count }), 'count')
  assertInvalid(await vary(person, { seconds: 3 }), 'seconds')
  assertInvalid(await vary(person, { more: 1 }), 'more')
  const image_reference = [{ file_id: 'file-00000000000000000000000000', role: 'first_frame' }]
  assertInvalid(await vary(person, { image_reference }), 'image_reference[0].file_id')
  for (const body of [[], null, 'three', 3]) {
    const caller = { cookie: person.cookie, headers: { origin: app.url } }
    assert.equal((await send(app, 'POST', '/console/videos/variations', caller, body)).status, 400)
  }
  assertRefused(await vary(person, { model: 'none' }), { status: 404, code: 'model_not_found', param: 'model' })
  const unagreed = await newColleague(app, person.org_id, { agreed: false })
  const refused = await vary(unagreed)
  assert.deepEqual([refused.status, refused.body.error.code], [403, 'agreement_required'])
  assert.equal(await jobsOf(app, person.org_id), 0)
})

test('400 for more than the plan has slots, which no waiting would change', async () => {
  const { org_id } = await newCustomer(app)
  await app.database.pool.query("update organizations set plan = 'small' where id = $1", [org_id])
  const person = await newColleague(app, org_id)
  assertInvalid(await vary(person), 'count', /allows 2 renders in progress, so 3 can never start together/)
  assert.equal((await vary(person, { count: 2 })).status, 200)
  assertRefused(await vary(person, { count: 2 }), TOO_FEW_SLOTS)
  await app.tick()
})

test('402 and 429 when a part of the set would fit: none of it is created', async () => {
  const poor = await newCustomer(app, { balance: COST * 3n - 1n })
  const message = /^These 3 renders together cost 0\.12000000, and 0\.11999999 is available\./
  assertRefused(await vary(poor), { status: 402, code: 'insufficient_credits', type: 'insufficient_quota', message })
  assert.equal(await jobsOf(app, poor.org_id), 0)
  assert.deepEqual(await account(poor), { held: 0n, running: 0 })

  const person = await newCustomer(app)
  for (let i = 0; i < SLOTS - 2; i++) assert.equal((await submit(app, person)).status, 200)
  assertRefused(await vary(person), { ...TOO_FEW_SLOTS, message: /Wait until 3/ })
  assert.equal(await jobsOf(app, person.org_id), SLOTS - 2)
  assert.equal((await vary(person, { count: 2 })).status, 200)
  await app.tick()
})

test('64 sets at once against a balance for two and a half: two sets, whole, and nothing of any other', async () => {
  const person = await newCustomer(app, { balance: (COST * 5n * 3n) / 2n })
  const answers = await Promise.all(Array.from({ length: 64 }, () => vary(person)))
  const made = answers.filter(({ status }) => status === 200)
  assert.deepEqual([made.length, answers.filter(({ status }) => status === 402).length], [2, 62])
  assert.equal(await jobsOf(app, person.org_id), 6)
  assert.deepEqual(await account(person), { held: COST * 6n, running: 6 })
  await app.tick()
})

test('64 sets and single jobs at once against seven slots: every set is whole, and no slot is taken twice', async () => {
  const person = await newCustomer(app)
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, i) => (i % 3 === 0 ? submit(app, person) : vary(person, { count: 2 + (i % 3) }))),
  )
  let jobs = 0
  for (const { status, body } of answers) {
    if (status === 200) jobs += body.data?.length ?? 1
    else assert.equal(status, 429)
  }
  assert.equal(jobs, SLOTS)
  assert.equal(await jobsOf(app, person.org_id), SLOTS)
  assert.deepEqual(await account(person), { held: COST * BigInt(SLOTS), running: SLOTS })
  await app.tick()
})

test('the first answer is replayed, all of it, also after the jobs have ended or been deleted', async () => {
  const person = await newCustomer(app)
  const key = randomUUID()
  const first = await vary(person, { key })
  assert.equal(first.status, 200)
  await app.tick()
  await send(app, 'DELETE', `/v1/videos/${first.body.data[1].id}`, person)
  const again = await vary(person, { key })
  assert.deepEqual(again.body, first.body)
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  assert.equal(await jobsOf(app, person.org_id), 2)
  assertRefused(await vary(person, { key, count: 4 }), REUSED)
  const single = { key: person.key, headers: { 'idempotency-key': key } }
  assertRefused(await send(app, 'POST', '/v1/videos', single, videoBody()), REUSED)
})

test('one set for many requests of one key at once', async () => {
  const person = await newCustomer(app)
  const key = randomUUID()
  const answers = await Promise.all(Array.from({ length: 20 }, () => vary(person, { key })))
  const made = answers.filter(({ status }) => status === 200)
  assert.ok(made.length > 0)
  for (const { body } of made) assert.deepEqual(body, made[0]!.body)
  for (const { status } of answers) assert.ok(status === 200 || status === 409)
  assert.equal(await jobsOf(app, person.org_id), 3)
  await app.tick()
})

/** What a request that lost its process looks like from inside. */
class Crash extends Error {
  readonly code = '57P01'
}

test('a crash after the commit and before the answer: the repeated request gets the set that exists', async () => {
  const person = await newCustomer(app)
  const key = randomUUID()
  armFailpoint('after_create', () => {
    throw new Crash()
  })
  assert.equal((await vary(person, { key })).status, 503)
  assert.equal(await jobsOf(app, person.org_id), 3)
  const again = await vary(person, { key })
  assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [200, 'true'])
  const { rows } = await app.database.pool.query('select id from video_jobs where org_id = $1 order by id', [
    person.org_id,
  ])
  assert.deepEqual(
    again.body.data.map(({ id }: { id: string }) => id),
    rows.map(({ id }) => id),
  )
  await app.tick()
})

test('a crash within the transaction leaves nothing of the set, and the repeated request creates it', async () => {
  const person = await newCustomer(app)
  const key = randomUUID()
  armFailpoint('within_create', () => {
    throw new Crash()
  })
  assert.equal((await vary(person, { key })).status, 503)
  assert.equal(await jobsOf(app, person.org_id), 0)
  assert.deepEqual(await account(person), { held: 0n, running: 0 })
  assert.equal((await vary(person, { key })).status, 200)
  assert.equal(await jobsOf(app, person.org_id), 3)
  await app.tick()
})

test('401 and 403 by API key: sets are for sessions', async () => {
  const person = await newCustomer(app)
  const refused = await send(app, 'POST', '/console/videos/variations', person, videoBody({ count: 2 }))
  assert.equal(refused.status, 403)
  assert.equal((await send(app, 'POST', '/console/videos/variations', {}, videoBody({ count: 2 }))).status, 401)
})

test('a set with a first frame names the same file in each of its jobs', async () => {
  const person = await newCustomer(app)
  const image_reference = [{ file_id: await storedFile(app, person), role: 'first_frame' }]
  const key = randomUUID()
  const made = await vary(person, { key, image_reference })
  assert.equal(made.status, 200)
  for (const each of made.body.data) assert.deepEqual(each.image_reference, image_reference)
  assert.deepEqual((await vary(person, { key, image_reference })).body, made.body)
})
