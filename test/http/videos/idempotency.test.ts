import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { addSeconds } from '../../../server/platform/clock.ts'
import type { Tx } from '../../../server/platform/db/db.ts'
import { bodyDigests, deleteExpiredKeys, rememberJobs, reserveKey } from '../../../server/videos/create/idempotency.ts'
import { meanwhile } from '../../support/data/meanwhile.ts'
import {
  newColleague,
  newCustomer,
  startApp,
  type TestApp,
  type TestPerson,
  videoBody,
} from '../../support/http/app.ts'
import { multipart } from '../../support/http/raw-http.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'
import { assertInvalid, assertRefused, jobsOf, sendRaw, storedFile } from '../../support/http/videos-app.ts'

let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
})
after(() => app.close())

const with_key = (caller: { key: string }, key: string) => ({ key: caller.key, headers: { 'idempotency-key': key } })
const post = (key: string, body: unknown = videoBody(), caller: { key: string } = person): Promise<HttpResponse> =>
  send(app, 'POST', '/v1/videos', with_key(caller, key), body)

const REUSED = { status: 422, code: 'idempotency_key_reused', param: 'Idempotency-Key' }

test('the first answer is replayed, status and body, also after the job has moved on, ended or been deleted', async () => {
  const key = randomUUID()
  const first = await post(key)
  assert.equal(first.status, 200)
  assert.equal(first.headers.get('idempotent-replayed'), null)
  const replay = async () => {
    const again = await post(key)
    assert.equal(again.status, 200)
    assert.deepEqual(again.body, first.body)
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
  }
  await replay()
  app.clock.advance(10)
  await app.tick()
  await replay()
  assert.equal((await send(app, 'DELETE', `/v1/videos/${first.body.id}`, person)).status, 200)
  await replay()
  assert.equal(await jobsOf(app, person.org_id), 0)
})

test('one job and one hold for many requests at once; the others are asked to retry or get the replay', async () => {
  const org = await newCustomer(app)
  const key = randomUUID()
  const answers = await Promise.all(Array.from({ length: 20 }, () => post(key, videoBody(), org)))
  for (const answer of answers) {
    if (answer.status === 200) continue
    assertRefused(answer, { status: 409, code: 'idempotency_in_progress' })
  }
  assert.equal(new Set(answers.filter(({ status }) => status === 200).map(({ body }) => body.id)).size, 1)
  assert.equal(await jobsOf(app, org.org_id), 1)
  assert.deepEqual(await app.audit(), {})
})

test('409 while the first request is being processed, for an SDK to retry after a second', async () => {
  const key = randomUUID()
  const reserved = { org_id: person.org_id, key, body_digests: await bodyDigests([app.secret], videoBody()) }
  await reserveKey(app.database.db, reserved, app.clock.now())
  const answer = await post(key)
  assertRefused(answer, { status: 409, code: 'idempotency_in_progress' })
  assert.deepEqual([answer.headers.get('x-should-retry'), answer.headers.get('retry-after')], ['true', '1'])
  assertRefused(await post(key, videoBody({ seconds: 5 })), REUSED)
  app.clock.advance(4)
  assertRefused(await post(key), { status: 409, code: 'idempotency_in_progress' })
  app.clock.advance(2)
  assert.equal((await post(key)).status, 200, 'the process that reserved it is dead: nothing renews it')
})

test('a request keeps its key for as long as its process works on it, and creates the only job', async () => {
  const { db, pool } = app.database
  const org = await newCustomer(app)
  const key = randomUUID()
  const body = videoBody({ image_reference: [{ file_id: await storedFile(app, org), role: 'first_frame' }] })
  const reservedAt = async () =>
    (await pool.query<{ at: Date }>('select reserved_at as at from video_idempotency where key = $1', [key])).rows[0]
      ?.at
  let first: Promise<HttpResponse> | undefined
  await db.transaction().execute(async (tx) => {
    await sql`lock table files in access exclusive mode`.execute(tx)
    first = post(key, body, org)
    for (let n = 0; n < 3; n++) {
      app.clock.advance(4)
      const late = performance.now() + 10_000
      while ((await reservedAt())?.getTime() !== app.clock.now().getTime()) {
        assert.ok(performance.now() < late, 'nothing renewed the reservation')
        await nextTurn()
      }
      assertRefused(await post(key, body, org), { status: 409, code: 'idempotency_in_progress' })
    }
  })
  assert.equal((await first!).status, 200)
  assert.equal((await post(key, body, org)).headers.get('idempotent-replayed'), 'true')
  assert.equal(await jobsOf(app, org.org_id), 1)
})

test('a request whose key another one has taken creates no job', async () => {
  const { db } = app.database
  const wanted = { org_id: person.org_id, key: randomUUID(), body_digests: ['digest'] }
  const start = app.clock.now()
  const first = await reserveKey(db, wanted, start)
  const second = await reserveKey(db, wanted, addSeconds(start, 6))
  assert.ok('reservation' in first && 'reservation' in second)
  const job = { job_ids: ['video_late'], cost: 1n, currency: 'USD', created_at: start }
  const remember = ({ reservation }: typeof first) =>
    db.transaction().execute((tx) => rememberJobs(tx, reservation, job))
  await assert.rejects(remember(first), { code: 'idempotency_in_progress' })
  await remember(second)
})

test('422 for another body under the same key, whatever differs', async () => {
  const key = randomUUID()
  const file_id = await storedFile(app, person)
  await post(key)
  const others = [
    { prompt: 'A paper boat on a calm lake ' },
    { seconds: 5 },
    { aspect_ratio: '9:16' },
    { model: 'other' },
    { size: '1' },
  ]
  for (const changes of [...others, { image_reference: [{ file_id, role: 'first_frame' }] }]) {
    assertRefused(await post(key, videoBody(changes)), REUSED)
  }
  assertRefused(await post(key, []), REUSED)
})

test('the same values are the same body: order of members, white space, 4.0, null for absent, JSON or form', async () => {
  const key = randomUUID()
  const a = await storedFile(app, person)
  const b = await storedFile(app, person)
  const image_reference = [
    { file_id: a, role: 'first_frame' },
    { file_id: b, role: 'last_frame' },
  ]
  const body = videoBody({ image_reference })
  const first = await post(key, body)
  assert.equal(first.status, 200, JSON.stringify(first.body))
  const swapped = image_reference.map(({ file_id, role }) => ({ role, file_id }))
  const reordered = Object.fromEntries(
    Object.entries({ ...body, image_reference: swapped, references: null }).reverse(),
  )
  const { type, body: form } = multipart([
    { name: 'image_reference[][role]', body: 'first_frame' },
    { name: 'image_reference[][file_id]', body: a },
    { name: 'image_reference[][role]', body: 'last_frame' },
    { name: 'image_reference[][file_id]', body: b },
    ...Object.entries(videoBody()).map(([name, value]) => ({ name, body: String(value) })),
  ])
  const caller = with_key(person, key)
  const same = [
    await post(key, reordered),
    await sendRaw(app, caller, JSON.stringify(body, null, 4).replace('"seconds": 4', '"seconds": 4.0')),
    await sendRaw(app, caller, new Uint8Array(form), type),
  ]
  for (const answer of same) {
    assert.deepEqual([answer.status, answer.body], [200, first.body])
    assert.equal(answer.headers.get('idempotent-replayed'), 'true')
  }
  assertRefused(await post(key, { ...body, image_reference: image_reference.toReversed() }), REUSED)
})

test('a refusal releases the key: it then creates a job with another body', async () => {
  const key = randomUUID()
  const poor = await newCustomer(app, { balance: 3_000_000n })
  assert.equal((await post(key, videoBody({ seconds: 3 }), poor)).status, 400)
  assert.equal((await post(key, videoBody({ model: 'nope' }), poor)).status, 404)
  assert.equal((await post(key, videoBody(), poor)).status, 402)
  const unagreed = await newColleague(app, poor.org_id, { agreed: false })
  assert.equal((await post(key, videoBody(), unagreed)).status, 403)
  const { rowCount } = await app.database.pool.query('select from video_idempotency where org_id = $1', [poor.org_id])
  assert.equal(rowCount, 0)
  const rich = await newCustomer(app)
  assert.equal((await post(key, videoBody({ seconds: 99 }), rich)).status, 400)
  assert.equal((await post(key, videoBody({ seconds: 5 }), rich)).status, 200)
})

test('a key is remembered for 24 hours, to the second', async () => {
  const key = randomUUID()
  const first = await post(key)
  app.clock.advance(86_399)
  assert.equal((await post(key)).body.id, first.body.id)
  app.clock.advance(1)
  const later = await post(key, videoBody({ seconds: 5 }))
  assert.equal(later.status, 200)
  assert.notEqual(later.body.id, first.body.id)
  assert.equal(later.headers.get('idempotent-replayed'), null)
})

test('a key that is used again at the moment its first use is forgotten is not forgotten with it', async () => {
  const { db } = app.database
  const wanted = { org_id: person.org_id, key: randomUUID(), body_digests: ['digest'] }
  const start = app.clock.now()
  await reserveKey(db, wanted, start)
  const later = addSeconds(start, 86_400)
  const use = (tx: Tx) => reserveKey(tx, wanted, later)
  await meanwhile(app, use, () => deleteExpiredKeys(db, later, 500))
  await assert.rejects(reserveKey(db, wanted, later), { code: 'idempotency_in_progress' })
})

test('a key belongs to the organization: colleagues share it, others have their own', async () => {
  const key = randomUUID()
  const first = await post(key)
  const colleague = await newColleague(app, person.org_id)
  assert.equal((await post(key, videoBody(), colleague)).body.id, first.body.id)
  const rival = await newCustomer(app)
  const theirs = await post(key, videoBody({ seconds: 5 }), rival)
  assert.equal(theirs.status, 200)
  assert.notEqual(theirs.body.id, first.body.id)
})

test('a key is 1 to 255 printable ASCII characters', async () => {
  const text = "Invalid 'Idempotency-Key' header: expected 1 to 255 printable ASCII characters."
  for (const key of ['', 'x'.repeat(256), 'schlüssel', 'a\tb', '\u0080'])
    assertInvalid(await post(key), 'Idempotency-Key', text)
  for (const key of ['x', 'x'.repeat(255), '!~ {}"\\\'', 'a, b']) assert.equal((await post(key)).status, 200, key)
})

test('without the header every request makes its own job', async () => {
  const [a, b] = [
    await send(app, 'POST', '/v1/videos', person, videoBody()),
    await send(app, 'POST', '/v1/videos', person, videoBody()),
  ]
  assert.notEqual(a.body.id, b.body.id)
})

test('the stored reservation contains no prompt', async () => {
  const prompt = `canary ${randomUUID()}`
  await post(randomUUID(), videoBody({ prompt }))
  const { rows } = await app.database.pool.query('select remembered::text from video_idempotency remembered')
  assert.ok(rows.length > 0)
  assert.ok(!JSON.stringify(rows).includes(prompt))
})
