import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { grantCredits } from '../../server/billing/ledger.ts'
import { formatMoney, parseMoney } from '../../server/platform/money.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { browserOf } from '../support/http/people.ts'
import { send } from '../support/http/send.ts'
import { assertRefused, submit } from '../support/http/videos-app.ts'

const CONFIG = `
currency: jpy
plans:
  free: { max_concurrent_renders: 1000 }
video_models:
  - { id: odd-1, engine: { kind: instant, script: [{ prompt_includes: breaks, render: permanent }] }, per_second: "0.033333" }
  - { id: even-1, engine: instant, per_second: "0.000001" }
`

let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp({ config: CONFIG })
  person = await newCustomer(app)
})
after(() => app.close())
afterEach(async () => assert.deepEqual(await app.audit(), {}))

const get = (path: string, who: TestPerson = person) => send(app, 'GET', `/console/${path}`, { cookie: who.cookie })
const grant = (org_id: string, amount: bigint, note: string) =>
  app.database.db
    .transaction()
    .execute((tx) => grantCredits(tx, { org_id, amount, note, user_id: null, now: app.clock.now() }))
const sum = (amounts: string[]) => formatMoney(amounts.reduce((total, amount) => total + parseMoney(amount)!, 0n))
type Entry = {
  id: string
  kind: string
  amount: string
  video_id: string | null
  key_id: string | null
  user_id: string
  user_name: string | null
  key_name: string | null
  seconds: number
  created_at: number
}

test('200 balance: the balance, the amount on hold for running jobs, and what is available', async () => {
  const org = await newCustomer(app, { balance: 1_000_000_000n })
  const at = async () => (await get('balance', org)).body
  assert.deepEqual(await at(), {
    object: 'balance',
    balance: '10.00000000',
    held: '0.00000000',
    available: '10.00000000',
    currency: 'jpy',
  })
  const job = await submit(app, org, { model: 'odd-1', seconds: 7 })
  assert.equal(job.body.cost, '0.23333100')
  assert.deepEqual(await at(), {
    object: 'balance',
    balance: '10.00000000',
    held: '0.23333100',
    available: '9.76666900',
    currency: 'jpy',
  })
  await app.tick()
  assert.deepEqual(await at(), {
    object: 'balance',
    balance: '9.76666900',
    held: '0.00000000',
    available: '9.76666900',
    currency: 'jpy',
  })
  const failed = await submit(app, org, { model: 'odd-1', prompt: 'it breaks' })
  await app.tick()
  assert.equal((await send(app, 'GET', `/v1/videos/${failed.body.id}`, org)).body.status, 'failed')
  assert.equal((await at()).available, '9.76666900')
  await grant(org.org_id, -976_666_901n, 'Correction')
  assert.deepEqual([(await at()).balance, (await at()).available], ['-0.00000001', '-0.00000001'])
})

test('200 ledger: newest first, each charge with the job, person, key, model and seconds it paid for', async () => {
  const org = await newCustomer(app, { balance: 500n })
  const { body: job } = await submit(app, org, { model: 'even-1', seconds: 5 })
  await app.tick()
  await send(app, 'DELETE', `/v1/videos/${job.id}`, org)
  const { status, body } = await get('ledger', org)
  assert.equal(status, 200)
  const created_at = Math.floor(app.clock.now().getTime() / 1000)
  const [charge, opening] = body.data
  assert.match(charge.request_id, /^req_[0-9a-f]{32}$/)
  assert.deepEqual(charge, {
    ...{
      id: charge.id,
      object: 'ledger_entry',
      kind: 'charge',
      amount: '-0.00000500',
      video_id: job.id,
      user_id: org.user_id,
    },
    key_id: org.key_id,
    request_id: charge.request_id,
    model: 'even-1',
    seconds: 5,
    note: null,
    created_at,
    input_tokens: null,
    cached_input_tokens: null,
    output_tokens: null,
    reasoning_tokens: null,
    user_name: 'owner',
    key_name: 'test',
  })
  assert.deepEqual(
    [opening.kind, opening.amount, opening.note, opening.video_id],
    ['grant', '0.00000500', 'Test balance', null],
  )
  assert.equal((await get('balance', org)).body.balance, '0.00000000')
})

test('200 ledger with the names of people and keys, for members as for managers', async () => {
  const owner = await newCustomer(app)
  const member = await newColleague(app, owner.org_id, { role: 'member' })
  for (const who of [{ key: owner.key }, { cookie: member.cookie }]) await submit(app, who, { model: 'even-1' })
  await app.tick()
  const namesFor = async (who: TestPerson) =>
    (await get('ledger', who)).body.data
      .filter(({ kind }: Entry) => kind === 'charge')
      .map(({ user_id, user_name, key_name }: Entry) => [user_id, user_name, key_name])
      .sort()
  const both = [
    [owner.user_id, 'owner', 'test'],
    [member.user_id, 'member', null],
  ]
  for (const who of [owner, member]) assert.deepEqual(await namesFor(who), both.sort())
})

test('sums of the ledger are the balance and the usage, to the last digit, however they are grouped', async () => {
  const colleague = await newColleague(app, person.org_id)
  for (let i = 0; i < 24; i++) {
    const who = [person, { key: colleague.key }, { cookie: colleague.cookie }][i % 3]!
    const prompt = i % 5 === 4 ? 'it breaks' : 'a boat'
    const { status } = await submit(app, who, { model: i % 2 ? 'odd-1' : 'even-1', seconds: 4 + (i % 12), prompt })
    assert.equal(status, 200)
    if (i % 3 === 0) app.clock.advance(40_000)
    await app.tick()
  }
  await grant(person.org_id, 7n, 'Goodwill')
  app.clock.advance(1)
  // Days went by: the login of before has ended.
  person = { ...person, ...(await browserOf(app, person)) }
  const entries: Entry[] = []
  for (let after = ''; ; ) {
    const { body } = await get(`ledger?limit=7${after}`)
    entries.push(...body.data)
    if (!body.has_more) break
    after = `&after=${body.last_id}`
  }
  assert.equal(new Set(entries.map(({ id }) => id)).size, entries.length)
  assert.deepEqual(
    entries.map(({ id }) => id),
    entries
      .map(({ id }) => id)
      .toSorted()
      .toReversed(),
  )
  assert.equal(sum(entries.map(({ amount }) => amount)), (await get('balance')).body.balance)

  const charges = entries.filter(({ kind }) => kind === 'charge')
  assert.ok(charges.length >= 15)
  const total = formatMoney(-parseMoney(sum(charges.map(({ amount }) => amount)))!)
  const groups: Record<string, (entry: Entry) => string | null> = {
    day: ({ created_at }) => new Date(created_at * 1000).toISOString().slice(0, 10),
    model: (entry) => (entry as unknown as { model: string }).model,
    key: ({ key_id }) => key_id,
    person: ({ user_id }) => user_id,
  }
  for (const [group_by, groupOf] of Object.entries(groups)) {
    const { status, body } = await get(`usage?group_by=${group_by}`)
    assert.equal(status, 200)
    assert.deepEqual([body.object, body.group_by, body.currency, body.total], ['usage', group_by, 'jpy', total])
    assert.equal(sum(body.data.map(({ amount }: { amount: string }) => amount)), total)
    const expected = Map.groupBy(charges, groupOf)
    assert.equal(body.data.length, expected.size)
    for (const { group, amount, charges: count, video_seconds } of body.data) {
      const rows = expected.get(group)!
      assert.equal(amount, formatMoney(-parseMoney(sum(rows.map((row) => row.amount)))!))
      assert.deepEqual([count, video_seconds], [rows.length, rows.reduce((all, { seconds }) => all + seconds, 0)])
    }
  }
})

test('usage counts from the first second up to, not including, the last', async () => {
  const org = await newCustomer(app)
  const at = Math.ceil(app.clock.now().getTime() / 1000) + 10
  app.clock.set(new Date(at * 1000))
  await submit(app, org, { model: 'even-1' })
  await app.tick()
  app.clock.advance(100)
  const charges = async (from: number, to: number) => {
    const { body } = await get(`usage?from=${from}&to=${to}`, org)
    assert.deepEqual([body.from, body.to], [from, to])
    return body.total
  }
  assert.equal(await charges(at, at + 1), '0.00000400')
  assert.equal(await charges(at - 5, at), '0.00000000')
  assert.equal(await charges(at + 1, at + 5), '0.00000000')
  assert.equal(await charges(at, at), '0.00000000')
  const { body } = await get('usage', org)
  assert.deepEqual([body.to - body.from, body.group_by, body.total], [30 * 86_400, 'day', '0.00000400'])
})

test('400 for an invalid period, group, limit or cursor, with its code', async () => {
  const cases: ReadonlyArray<[query: string, param: string, code: string]> = [
    ['usage?from=x', 'from', 'invalid_type'],
    ['usage?from=-1', 'from', 'integer_below_min_value'],
    ['usage?to=4102444801', 'to', 'integer_above_max_value'],
    ['usage?from=10&to=9', 'from', 'invalid_value'],
    ['usage?to=1.5', 'to', 'invalid_type'],
    ['usage?group_by=hour', 'group_by', 'invalid_value'],
    ['usage?group_by=', 'group_by', 'invalid_value'],
    ['ledger?limit=0', 'limit', 'integer_below_min_value'],
    ['ledger?limit=101', 'limit', 'integer_above_max_value'],
    ['ledger?limit=10abc', 'limit', 'invalid_type'],
    ['ledger?after=le_x', 'after', 'invalid_value'],
    ['ledger?order=up', 'order', 'invalid_value'],
  ]
  for (const [query, param, code] of cases) assertRefused(await get(query), { status: 400, code, param })
  for (const edge of [
    'usage?from=0&to=0',
    'usage?to=0',
    'usage?from=0&to=4102444800',
    'ledger?limit=1',
    'ledger?limit=100',
  ]) {
    assert.equal((await get(edge)).status, 200, edge)
  }
})

test('every role sees the money of its organization, and none that of another', async () => {
  const org = await newCustomer(app, { balance: 123n })
  const member = await newColleague(app, org.org_id, { role: 'member', agreed: false })
  assert.equal((await get('balance', member)).body.balance, '0.00000123')
  assert.equal((await get('ledger', member)).body.data.length, 1)
  app.clock.advance(1)
  assert.deepEqual((await get('usage', member)).body.data, [])
})
