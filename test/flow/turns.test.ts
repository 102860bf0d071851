import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintKey } from '../../server/identity/keys/format.ts'
import { turnOwner } from '../../server/platform/turns.ts'
import { startDeliveryConsumer } from '../../server/webhooks/delivery-consumer.ts'
import { recordEvents } from '../../server/webhooks/store/events.ts'
import { SCRIPTED_CONFIG, scriptedEngines } from '../laws/scripted-app.ts'
import { newCustomer, startApp, videoBody } from '../support/http/app.ts'
import { startChatApp } from '../support/http/chat-app.ts'
import { rawConnection } from '../support/http/raw-http.ts'
import { type Caller, send } from '../support/http/send.ts'
import { startWebhooksApp } from '../support/webhooks/app.ts'

test('a job takes the turns of its organization', async (t) => {
  const engines = scriptedEngines({ render: 'succeed', moderation: 'allow' })
  const { promise: owner, resolve } = Promise.withResolvers<string>()
  const { moderate } = engines.moderation
  engines.moderation.moderate = (...given) => {
    resolve(turnOwner())
    return moderate(...given)
  }
  const app = await startApp({ config: SCRIPTED_CONFIG(1), engines, background: true })
  t.after(app.close)
  const person = await newCustomer(app)
  const { status } = await send(app, 'POST', '/v1/videos', { key: person.key }, videoBody({ model: 'outside-1' }))
  assert.equal(status, 200)
  assert.equal(await owner, person.org_id)
})

test('the delivery of an event takes the turns of its organization', async (t) => {
  const { app, person, close } = await startWebhooksApp()
  const endpoint = { name: 'Test', url: 'https://receiver.example/hook', event_types: ['video.completed'] }
  assert.equal((await send(app, 'POST', '/v1/webhook_endpoints', { key: person.key }, endpoint)).status, 200)
  const event = { org_id: person.org_id, type: 'video.completed' as const, subject_id: 'video_1' }
  await app.ctx.db.transaction().execute((tx) => recordEvents(tx, [event], app.clock.now()))
  const { promise: owner, resolve } = Promise.withResolvers<string>()
  const worker = startDeliveryConsumer(app.ctx, {
    sole: false,
    lookup(_name, _options, callback) {
      resolve(turnOwner())
      callback(null, [{ address: '10.0.0.7', family: 4 }])
    },
  })
  t.after(() => worker.stop().then(close))
  assert.equal(await owner, person.org_id)
})

test('reports of an organization are read one at a time, and leave another its turn', async (t) => {
  const app = await startApp({})
  t.after(app.close)
  const [many, other] = [await newCustomer(app), await newCustomer(app)]
  const { pool } = app.database
  const client = await pool.connect()
  await client.query('begin')
  await client.query('lock table ledger_entries in access exclusive mode')
  const paths = ['/console/usage', '/console/usage.csv', '/console/ledger.csv', '/console/usage', '/console/ledger.csv']
  const read = async ({ cookie }: Caller, path: string) => (await send(app, 'GET', path, { cookie })).status
  const reports = paths.map((path) => read(many, path))
  const waiting = async () =>
    (await pool.query("select from pg_locks where relation = 'ledger_entries'::regclass and not granted")).rowCount!
  const counts = new Set<number>()
  while ((await waiting()) < 1);
  reports.push(...paths.map((path) => read(other, path)))
  while ((await waiting()) < 2);
  // More would arrive meanwhile.
  for (let i = 0; i < 100; i++) counts.add(await waiting())
  await client.query('rollback')
  client.release()
  assert.deepEqual([...counts], [2])
  for (const status of await Promise.all(reports)) assert.equal(status, 200)
})

test('callers of one address whose keys are looked up leave connections to others', async (t) => {
  const app = await startApp({ config: JSON.stringify({ trusted_proxies: ['127.0.0.1'] }) })
  t.after(app.close)
  const person = await newCustomer(app)
  const list = (caller: Caller, address: string) =>
    send(app, 'GET', '/v1/videos', { ...caller, headers: { 'x-forwarded-for': address } })
  const { pool } = app.database
  const client = await pool.connect()
  await client.query('begin')
  await client.query('lock table api_keys in access exclusive mode')
  let answered = 0
  const unknown = Array.from({ length: 30 }, () =>
    list({ key: mintKey('sk') }, '203.0.113.7').finally(() => answered++),
  )
  const waiting = () => pool.query("select from pg_locks where relation = 'api_keys'::regclass and not granted")
  while ((await waiting()).rows.length < 8) assert.equal(answered, 0)
  // Sessions are in another table.
  const { status } = await list({ cookie: person.cookie }, '203.0.113.8')
  assert.deepEqual([status, answered], [200, 0])
  await client.query('rollback')
  client.release()
  for (const { status } of await Promise.all(unknown)) assert.equal(status, 401)
})

test('a request begins before most of those that another organization sent at the same moment, ahead of it', async (t) => {
  const { app, upstream, person, outsider, chat, close } = await startChatApp([{ id: 'm' }])
  t.after(close)
  // Whoever is known already begins at once.
  for (const caller of [person, outsider]) assert.equal((await chat({}, caller)).status, 200)
  upstream.requests.splice(0)
  const callers = [...Array.from({ length: 300 }, () => person), outsider]
  const connections = await Promise.all(callers.map(() => rawConnection(app.url)))
  // The service accepts one connection after another.
  for (const { write, answer } of connections) {
    await write('GET /healthz HTTP/1.1\r\nhost: kinora\r\n\r\n')
    assert.equal((await answer()).status, 200)
  }
  for (const [i, { write }] of connections.entries()) {
    const messages = [{ role: 'user', content: callers[i] === outsider ? 'late' : 'early' }]
    const body = JSON.stringify({ model: 'm', messages })
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: kinora\r\nauthorization: Bearer ${callers[i]!.key}`
    void write(`${head}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  }
  for (const { answer, close } of connections) {
    assert.equal((await answer()).status, 200)
    close()
  }
  const before = upstream.requests.findIndex(({ json }) => JSON.stringify(json).includes('"late"'))
  assert.ok(before >= 0 && before < 150, `${before} requests were before it`)
})
