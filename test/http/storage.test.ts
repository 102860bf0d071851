import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { allSweeps } from '../../server/assembly/background.ts'
import { grantCredits } from '../../server/billing/ledger.ts'
import { findStoredBytes } from '../../server/billing/storage/store.ts'
import { insertConversation } from '../../server/conversations/store.ts'
import { newId } from '../../server/platform/ids.ts'
import { samplePicture } from '../support/data/media.ts'
import { newCustomer, type TestPerson, videoBody } from '../support/http/app.ts'
import { type BackgroundApp, startBackgroundApp } from '../support/http/background-app.ts'
import { sendForm } from '../support/http/files-app.ts'
import { multipart, rawConnection } from '../support/http/raw-http.ts'
import { send } from '../support/http/send.ts'
import { assertError, turnSocket } from '../support/http/socket/turns.ts'
import { assertInvalid, assertRefused, jobsOf, sendRaw, storedFile, submit } from '../support/http/videos-app.ts'
import { SETTINGS } from './conversations/conversation-settings.ts'

const LIMIT = 1_000_000
/** Counted for each file, job and response beside its content. */
const ROW = 4096
/** Counted for the entry of a deletion of a job in the log of activity. */
const ENTRY = 1024
const FULL = { status: 413, code: 'storage_limit_exceeded', message: /allows 1000000 stored bytes\. Delete .*'store'/ }

let service: BackgroundApp
before(async () => {
  service = await startBackgroundApp({ worker: false, plan: `max_stored_bytes: ${LIMIT}, max_concurrent_renders: 100` })
})
after(async () => {
  assert.deepEqual(await service.app.audit(), {})
  await service.close()
})

const upload = ({ key }: TestPerson, size: number) =>
  sendForm({ url: service.app.url, key }, [
    { name: 'purpose', body: 'user_data' },
    { name: 'file', filename: 'a.txt', body: Buffer.alloc(size, 'x') },
  ])
const respond = ({ key }: TestPerson, changes: Record<string, unknown> = {}) =>
  send(service.app, 'POST', '/v1/responses', { key }, { model: 'm', input: 'Hello', ...changes })
/** The answer to an upload of which nothing is sent but the length. */
async function declare({ key }: TestPerson, length: number) {
  const connection = await rawConnection(service.app.url)
  const head = `POST /v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n`
  await connection.write(
    `${head}content-type: multipart/form-data; boundary=b\r\ncontent-length: ${length}\r\n\r\n--b\r\n`,
  )
  const { status, body } = await connection.answer()
  connection.close()
  return { status, code: JSON.parse(String(body)).error.code }
}
const usage = async ({ cookie }: TestPerson) =>
  (await send(service.app, 'GET', '/console/usage', { cookie })).body.storage
/** A customer without room for anything. */
async function fullCustomer(options: { balance?: bigint } = {}): Promise<TestPerson> {
  const person = await newCustomer(service.app, options)
  await storedFile(service.app, person, { size_bytes: LIMIT })
  return person
}

test('413 for an upload that has no room, before a byte of it is read; a deletion makes room at once', async () => {
  const person = await newCustomer(service.app)
  const { status, body } = await upload(person, 600_000)
  assert.equal(status, 200)
  assert.deepEqual(await declare(person, 600_000), { status: 413, code: 'storage_limit_exceeded' })
  // The form is larger than the room that is left: how large the file is shows at its end.
  assertRefused(await upload(person, LIMIT - 600_000 - 2 * ROW + 1), FULL)
  assert.equal((await upload(person, LIMIT - 600_000 - 2 * ROW)).status, 200)
  assert.deepEqual(await usage(person), { files: LIMIT, videos: 0, responses: 0, records: 0, limit: LIMIT })
  assertRefused(await upload(person, 1), FULL)
  assert.equal((await send(service.app, 'DELETE', `/v1/files/${body.id}`, { key: person.key })).status, 200)
  assert.equal((await upload(person, 1)).status, 200)
})

test('a conversation and its settings count beside the responses, and no more once it is deleted; 413 without room', async () => {
  const callAs =
    ({ cookie }: TestPerson) =>
    (method: string, path = '', body?: unknown) =>
      send(service.app, method, `/console/conversations${path}`, { cookie }, body)
  const settings = { ...SETTINGS, system: 'x'.repeat(100_000) }
  const person = await newCustomer(service.app)
  const call = callAs(person)
  const { id } = (await call('POST', '', { title: 'First', settings: SETTINGS })).body
  const small = (await usage(person)).responses
  assert.equal((await call('PATCH', `/${id}`, { settings })).status, 200)
  assert.equal((await usage(person)).responses, small + 100_000)
  await call('DELETE', `/${id}`)
  assert.equal((await usage(person)).responses, 0)

  const full = await fullCustomer()
  const now = service.app.clock.now()
  const known = newId('conversation', now)
  await insertConversation(service.app.ctx.db, full, { id: known, title: 'First', settings: SETTINGS, now, most: 1 })
  assertRefused(await callAs(full)('POST', '', { title: 'Second', settings: SETTINGS }), FULL)
  assertRefused(await callAs(full)('PATCH', `/${known}`, { settings }), FULL)
  assert.equal((await callAs(full)('PATCH', `/${known}`, { title: 'Renamed' })).status, 200)
})

test('402 for an upload while the balance is below zero, before a byte of it is read; at zero it is stored', async () => {
  const person = await newCustomer(service.app, { balance: 0n })
  assert.equal((await upload(person, 1)).status, 200)
  const { org_id, user_id } = person
  const debt = { org_id, user_id, amount: -1n, note: 'owed', now: service.app.clock.now() }
  await service.app.database.db.transaction().execute((tx) => grantCredits(tx, debt))
  assert.deepEqual(await declare(person, 100), { status: 402, code: 'insufficient_credits' })
})

test('uploads at once store as many as the plan allows, never one more, and those refused leave nothing', async () => {
  const person = await newCustomer(service.app)
  const answers = await Promise.all(Array.from({ length: 20 }, () => upload(person, 300_000)))
  for (const answer of answers.filter(({ status }) => status !== 200)) assertRefused(answer, FULL)
  const { data } = (await send(service.app, 'GET', '/v1/files', { key: person.key })).body
  assert.equal(data.length, 3)
  assert.equal((await usage(person)).files, 3 * (300_000 + ROW))
})

test('413 for jobs and stored responses without room, charged nothing and asked of no model; `store: false` is answered', async () => {
  const person = await fullCustomer()
  const { app, upstream } = service
  const key = { ...person, headers: { 'idempotency-key': 'once' } }
  const poor = await fullCustomer({ balance: 0n })
  upstream.requests.length = 0
  assertInvalid(
    await submit(app, person, { image_reference: [{ file_id: 'file-x', role: 'first_frame' }] }),
    'image_reference[0].file_id',
  )
  assertRefused(await submit(app, poor), FULL)
  assertRefused(await submit(app, key), FULL)
  assert.equal((await respond(poor)).status, 402)
  for (const changes of [{}, { stream: true }, { background: true }])
    assertRefused(await respond(person, changes), FULL)
  const socket = await turnSocket(app.url, person)
  const ask = { model: 'm', input: 'Hello' }
  assertError(await socket.turn(ask), { status: 413, code: FULL.code, message: FULL.message })
  assertError(await socket.turn({ ...ask, generate: false }), FULL)
  assert.equal(upstream.requests.length, 0)
  assert.equal((await socket.turn({ ...ask, store: false })).last.type, 'response.completed')
  await socket.close()
  assert.equal((await respond(person, { store: false })).status, 200)
  const frame = { name: 'input_reference', filename: 'a.png', type: 'image/png', body: await samplePicture('png') }
  const form = multipart([...['model', 'prompt'].map((name) => ({ name, body: String(videoBody()[name]) })), frame])
  assertRefused(await sendRaw(app, person, form.body, form.type), FULL)
  assert.equal(await jobsOf(app, person.org_id), 0)
  const { data } = (await send(app, 'GET', '/v1/files', { key: person.key })).body
  await send(app, 'DELETE', `/v1/files/${data[0].id}`, { key: person.key })
  assert.equal(data.length, 1)
  assert.equal((await submit(app, key)).status, 200, 'the refusal freed the key')
  assert.equal((await respond(person)).status, 200)
})

test('what was admitted while there was room is stored, charged and counted, however full it has become', async () => {
  const person = await newCustomer(service.app)
  const { app } = service
  const { id: video } = (await submit(app, person)).body
  const { id: response } = (await service.submit({ input: 'Hello' }, person)).body
  const before = await usage(person)
  assert.equal(before.videos, ROW + 'A paper boat on a calm lake'.length)
  await storedFile(app, person, { size_bytes: LIMIT })
  await app.tick()
  await service.tick()
  assert.equal((await send(app, 'GET', `/v1/videos/${video}`, { key: person.key })).body.status, 'completed')
  assert.equal((await service.call('GET', response, person)).body.status, 'completed')
  const stored = await usage(person)
  const clip = await send(app, 'GET', `/v1/videos/${video}/content`, { key: person.key })
  assert.equal(stored.videos, before.videos + Number(clip.headers.get('content-length')))
  // The events of a response in the background repeat it several times.
  assert.ok(stored.responses > before.responses + 3000, JSON.stringify({ before, stored }))
  for (const path of [`videos/${video}`, `responses/${response}`])
    assert.equal((await send(app, 'DELETE', `/v1/${path}`, { key: person.key })).status, 200)
  assert.deepEqual(await usage(person), {
    files: LIMIT + ROW,
    videos: 0,
    responses: 0,
    records: ROW + ENTRY,
    limit: LIMIT,
  })
})

/** Bytes of tables with their indexes. */
async function sizeOf(...tables: string[]): Promise<number> {
  const { pool } = service.app.database
  const { rows } = await pool.query(
    'select sum(pg_total_relation_size(t::regclass))::int as bytes from unnest($1::text[]) t',
    [tables],
  )
  return rows[0].bytes
}

test('what remains of deleted jobs and responses for webhooks is counted, at no less than it takes on the disk', async () => {
  const person = await newCustomer(service.app)
  const { app } = service
  const key = { key: person.key }
  const endpoint = {
    name: 'a',
    url: 'https://hooks.example.com/',
    event_types: ['video.canceled', 'response.cancelled'],
  }
  for (let n = 0; n < 20; n++)
    assert.equal((await send(app, 'POST', '/v1/webhook_endpoints', key, endpoint)).status, 200)
  const tables = ['events', 'event_deliveries', 'activity_entries']
  const before = await sizeOf(...tables)
  const cycles = 20
  for (let n = 0; n < cycles; n++) {
    const job = `/v1/videos/${(await submit(app, person)).body.id}`
    const response = `/v1/responses/${(await service.submit({}, person)).body.id}`
    for (const path of [job, response]) {
      assert.equal((await send(app, 'POST', `${path}/cancel`, key)).status, 200)
      assert.equal((await send(app, 'DELETE', path, key)).status, 200)
    }
  }
  const { records, ...others } = await usage(person)
  assert.deepEqual(others, { files: 0, videos: 0, responses: 0, limit: LIMIT })
  const grown = (await sizeOf(...tables)) - before
  assert.ok(records >= grown && records < 3 * grown, JSON.stringify({ records, grown }))
  assertRefused(await upload(person, LIMIT - records - ROW + 1), FULL)
  assert.equal((await upload(person, LIMIT - records - ROW)).status, 200)
  const holds = await app.database.pool.query('select from holds where org_id = $1', [person.org_id])
  assert.equal(holds.rowCount, 0, 'a job that cost nothing leaves no hold')
  app.clock.advance(31 * 86_400)
  const sweepAll = async () => {
    for (const sweep of allSweeps(app.ctx, app.ctx.db)) await sweep.run()
    return (await findStoredBytes(app.database.db, person.org_id)).records
  }
  assert.equal(await sweepAll(), cycles * ENTRY)
  app.clock.advance(400 * 86_400)
  assert.equal(await sweepAll(), 0)
})

test('small items count no less than they take on the disk, when a response is stored and when it has ended', async () => {
  const person = await newCustomer(service.app)
  const tables = ['responses', 'response_items', 'response_event_batches']
  const before = await sizeOf(...tables)
  let counted = 0
  for (const changes of [{ background: true }, {}, {}, {}]) {
    const input = Array.from({ length: 140 }, (_, n) => ({ id: `${n}`.padEnd(200, 'x'), role: 'user', content: 'x' }))
    assert.equal((await respond(person, { input, ...changes })).status, 200)
    const { responses } = await usage(person)
    await service.tick()
    const ended = (await usage(person)).responses
    assert.ok(ended >= responses, 'an end takes nothing away')
    counted = ended
  }
  const grown = (await sizeOf(...tables)) - before
  assert.ok(counted >= grown, JSON.stringify({ counted, grown }))
})

test('the instructions of a response count as its items do', async () => {
  const person = await newCustomer(service.app)
  assert.equal((await respond(person, { instructions: 'x'.repeat(100_000) })).status, 200)
  const { responses } = await usage(person)
  assert.ok(responses > 100_000 && responses < 110_000, String(responses))
})
