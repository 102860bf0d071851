import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openMeter, type UsageCharge } from '../../../server/billing/meter.ts'
import { openDb } from '../../../server/platform/db/db.ts'
import { newRequestId } from '../../../server/platform/ids.ts'
import type { TestPerson } from '../../support/http/app.ts'
import {
  ask,
  balanceOf,
  chargesOf,
  costOf,
  customer,
  eventsOf,
  type MeteredChatApp,
  startMeteredChatApp,
} from '../../support/http/metered-chat-app.ts'
import { chunk, USAGE } from '../../support/upstream/chat-upstream.ts'
import { postgresProxy } from '../../support/upstream/postgres-proxy.ts'

let service: MeteredChatApp
before(async () => {
  service = await startMeteredChatApp()
})
after(async () => {
  assert.deepEqual(await service.app.audit(), {})
  await service.close()
})

const SAID = costOf({ input: USAGE.prompt_tokens, output: USAGE.completion_tokens })
const times = <T>(count: number, make: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => make(i)))

test('a commit whose outcome is lost with the connection is repeated, and charged once', async () => {
  const proxy = await postgresProxy(service.app.database.url)
  const database = { ...service.app.database, url: proxy.url }
  const far = await startMeteredChatApp({ beside: { ...service, app: { ...service.app, database } } })
  const person = await customer(service)
  for (const stream of [true, false]) {
    await ask(far.app, person, { model: 'sandbox-1' })
    const before = (await chargesOf(service.app, person)).length
    service.upstream.reply({ kind: 'stall' })
    const asked = service.upstream.requests.length
    const answering = ask(far.app, person, { stream })
    while (service.upstream.requests.length === asked) await new Promise(setImmediate)
    proxy.deafen()
    service.upstream.release()
    while ((await chargesOf(service.app, person)).length === before) await new Promise(setImmediate)
    proxy.cut()
    proxy.restore()
    const answer = await answering
    assert.equal(answer.status, 200, answer.text)
    if (stream) assert.equal(eventsOf(answer.text).at(-1), '[DONE]')
    assert.equal((await chargesOf(service.app, person)).length, before + 1)
  }
  await far.close()
  await proxy.close()
})

test('answers survive repeated losses of database connections, each charged once', async () => {
  const person = await customer(service)
  const proxy = await postgresProxy(service.app.database.url)
  const database = { ...service.app.database, url: proxy.url }
  const far = await startMeteredChatApp({ beside: { ...service, app: { ...service.app, database } } })
  const frames = [chunk({ content: 'Hi' }), chunk({}, { finish_reason: 'stop', usage: USAGE })]
  service.upstream.always({ kind: 'stream', frames, piece_bytes: 8 })
  await ask(far.app, person)
  let over = false
  const answering = times(60, (i) => ask(far.app, person, { stream: i % 2 === 0 })).finally(() => {
    over = true
  })
  for (let cuts = 0; !over; cuts++) {
    if (cuts < 10) proxy.cut()
    await new Promise((resolve) => setTimeout(resolve, 15))
    proxy.restore()
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
  const answers = await answering
  service.upstream.always(null)
  await far.close()
  await proxy.close()
  const entries = await chargesOf(service.app, person)
  const answered = answers.filter(({ status }) => status === 200).length
  assert.ok(answered > 0)
  assert.ok(
    answers.every(({ status }) => status === 200 || status === 503),
    answers.map(({ status }) => status).join(),
  )
  assert.equal(entries.length, answered + 1)
  assert.equal(await balanceOf(service.app, person), 10_000_000_000n - SAID * BigInt(entries.length))
})

const usageOf = ({ org_id, user_id }: TestPerson, more: Partial<UsageCharge> = {}): UsageCharge => ({
  request_id: newRequestId(),
  org_id,
  user_id,
  key_id: null,
  model: 'far-1',
  now: service.app.clock.now(),
  input_tokens: 1,
  cached_input_tokens: 0,
  output_tokens: 1,
  reasoning_tokens: 0,
  amount: 5n,
  ...more,
})
const IMPATIENT = { patience_ms: 1, statement_ms: 50, close_ms: 5000 }

test('a charge that cannot be written fails alone, whatever is in its group', async () => {
  const person = await customer(service)
  const meter = openMeter(service.app.ctx.db)
  const strange = { ...person, org_id: 'org_nowhere' }
  const charges = Array.from({ length: 40 }, (_, i) => meter.charge(usageOf(i === 0 || i % 9 === 5 ? strange : person)))
  const results = await Promise.allSettled(charges)
  const failed = results.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []))
  assert.deepEqual(failed, [0, 5, 14, 23, 32])
  assert.equal((await chargesOf(service.app, person)).length, 35)
  assert.equal(await balanceOf(service.app, person), 10_000_000_000n - 35n * 5n)
  await meter.close()
})

test('one request id is charged once, in one group, in two and by two processes', async () => {
  const person = await customer(service)
  const meters = [openMeter(service.app.ctx.db), openMeter(service.app.database.db)]
  const usage = usageOf(person)
  await times(20, (i) => meters[i % 2]!.charge(usage))
  await meters[0]!.charge(usage)
  assert.equal((await chargesOf(service.app, person)).length, 1)
  assert.equal(await balanceOf(service.app, person), 10_000_000_000n - 5n)
})

test('a statement that is never answered is sent again over another connection', async () => {
  const person = await customer(service)
  const proxy = await postgresProxy(service.app.database.url)
  const { db, close } = openDb(proxy.url, { pool_max: 2 })
  // On a busy machine an answer takes longer than 50 ms.
  const meter = openMeter(db, { ...IMPATIENT, patience_ms: 60_000, statement_ms: 1500 })
  await meter.charge(usageOf(person))
  proxy.deafen()
  await meter.charge(usageOf(person))
  assert.equal((await chargesOf(service.app, person)).length, 2)
  await meter.close()
  proxy.cut()
  await close()
  await proxy.close()
})

test('during a database outage answers end in an error, and their charges are written afterwards', async () => {
  const person = await customer(service)
  const proxy = await postgresProxy(service.app.database.url)
  const { db, close } = openDb(proxy.url)
  const meter = openMeter(db, IMPATIENT)
  proxy.cut()
  const results = await Promise.allSettled(Array.from({ length: 5 }, () => meter.charge(usageOf(person))))
  for (const result of results) {
    assert.equal(result.status === 'rejected' && result.reason.code, 'server_is_overloaded')
  }
  assert.equal((await chargesOf(service.app, person)).length, 0)
  proxy.restore()
  await meter.close()
  assert.equal((await chargesOf(service.app, person)).length, 5)
  await close()
  await proxy.close()
})
