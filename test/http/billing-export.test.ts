import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { grantCredits } from '../../server/billing/ledger.ts'
import { formatMoney, parseMoney } from '../../server/platform/money.ts'
import { readCsv } from '../support/data/csv.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { assertRefused, submit } from '../support/http/videos-app.ts'

const CONFIG = `
plans:
  free: { max_concurrent_renders: 1000 }
video_models:
  - { id: odd-1, name: Odd, engine: instant, per_second: "0.033333" }
  - { id: even-1, engine: instant, per_second: "0.000001" }
`

let app: TestApp
let owner: TestPerson
let member: TestPerson
before(async () => {
  app = await startApp({ config: CONFIG })
  owner = await newCustomer(app)
  member = await newColleague(app, owner.org_id)
  for (let i = 0; i < 12; i++) {
    const who = [owner, member, { cookie: member.cookie }][i % 3]!
    await submit(app, who, { model: i % 2 ? 'odd-1' : 'even-1', seconds: 4 + i })
    if (i % 4 === 3) app.clock.advance(7000)
  }
  await app.tick()
  app.clock.advance(1)
})
after(() => app.close())

const get = (path: string, who: TestPerson = owner) => send(app, 'GET', `/console/${path}`, { cookie: who.cookie })
const grant = (org_id: string, amount: bigint, note: string) =>
  app.database.db
    .transaction()
    .execute((tx) => grantCredits(tx, { org_id, amount, note, user_id: null, now: app.clock.now() }))
const sum = (amounts: string[]) => formatMoney(amounts.reduce((total, amount) => total + parseMoney(amount)!, 0n))

/** A CSV file as a spreadsheet reads it: a row by the names of its columns. */
async function csv(path: string, who: TestPerson = owner) {
  const answer = await fetch(`${app.url}/console/${path}`, { headers: { cookie: who.cookie } })
  const bytes = Buffer.from(await answer.arrayBuffer())
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8')
  assert.deepEqual([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf])
  const [head, ...rows] = readCsv(bytes.toString('utf8').slice(1))
  return { answer, rows: rows.map((row) => Object.fromEntries(head!.map((name, i) => [name, row[i]!]))) }
}

test('the ledger as CSV has every entry, oldest first, and adds up to the balance to the last digit', async () => {
  const { answer, rows } = await csv('ledger.csv')
  assert.match(answer.headers.get('content-disposition')!, /^attachment; filename="ledger-\d{4}-\d\d-\d\d\.csv"$/)
  const { data } = (await get('ledger?limit=100&order=asc')).body
  assert.deepEqual(
    rows.map(({ id, amount, kind }) => [id, amount, kind]),
    data.map(({ id, amount, kind }: Record<string, string>) => [id, amount, kind]),
  )
  assert.equal(sum(rows.map(({ amount }) => amount!)), (await get('balance')).body.balance)
  const [charge] = rows.filter(({ kind, key_id }) => kind === 'charge' && key_id === member.key_id)
  assert.deepEqual([charge!.person_id, charge!.person, charge!.key], [member.user_id, 'member', 'test'])
  assert.equal(new Date(charge!.created_at!).toISOString(), charge!.created_at)
})

test('the ledger as CSV covers a period, from its first second up to, not including, its last', async () => {
  const all = (await csv('ledger.csv')).rows
  const at = (row: Record<string, string>) => Math.floor(new Date(row.created_at!).getTime() / 1000)
  const [first, last] = [at(all[0]!), at(all.at(-1)!)]
  assert.ok(first < last)
  const within = (await csv(`ledger.csv?from=${first + 1}&to=${last + 1}`)).rows
  assert.deepEqual(
    within,
    all.filter((row) => at(row) > first),
  )
  assert.deepEqual((await csv(`ledger.csv?from=${last + 5}&to=${last + 5}`)).rows, [])
})

test('a file of many entries contains each once', async () => {
  const org = await newCustomer(app, { balance: 0n })
  for (let i = 0; i < 5; i++) {
    await app.database.pool.query(
      `insert into ledger_entries (id, org_id, kind, amount, note, created_at)
       select 'le_' || lpad($2::text || lpad(n::text, 4, '0'), 26, '0'), $1, 'grant', n, 'many', now()
       from generate_series(1, 501) n`,
      [org.org_id, i],
    )
  }
  const { rows } = await csv('ledger.csv?to=4102444800', org)
  assert.equal(rows.length, 2505)
  assert.equal(new Set(rows.map(({ id }) => id)).size, 2505)
  await app.database.pool.query(`update accounts set balance = $2 where org_id = $1`, [org.org_id, 5 * 125_751])
})

test('a note or a name that a spreadsheet would run as a formula is text', async () => {
  const org = await newCustomer(app, { balance: 0n })
  await send(app, 'PATCH', '/console/profile', { cookie: org.cookie }, { name: '@SUM(1+1)*cmd|calc' })
  await grant(org.org_id, 1_000_000n, '=HYPERLINK("https://evil.example","refund")')
  await submit(app, org, { model: 'even-1' })
  await app.tick()
  app.clock.advance(1)
  const { rows } = await csv('ledger.csv', org)
  assert.deepEqual(
    rows.map(({ note, person, amount }) => [note, person, amount]),
    [
      [`'=HYPERLINK("https://evil.example","refund")`, '', '0.01000000'],
      ['', "'@SUM(1+1)*cmd|calc", '-0.00000400'],
    ],
  )
})

test('usage by two things adds up to usage by each, to the last digit, and names what it groups', async () => {
  const { total } = (await get('usage')).body
  for (const pair of ['day,model', 'day,key', 'day,person', 'model,key', 'model,person', 'key,person']) {
    const { status, body } = await get(`usage?group_by=${pair}`)
    assert.equal(status, 200)
    assert.deepEqual([body.group_by, body.total], [pair, total])
    for (const [i, single] of pair.split(',').entries()) {
      const ones = (await get(`usage?group_by=${single}`)).body.data
      for (const { group, amount, charges } of ones) {
        const rows = body.data.filter((row: Record<string, string>) => row[i ? 'subgroup' : 'group'] === group)
        assert.equal(sum(rows.map((row: { amount: string }) => row.amount)), amount)
        assert.equal(
          rows.reduce((all: number, row: { charges: number }) => all + row.charges, 0),
          charges,
        )
      }
    }
  }
  const { data } = (await get('usage?group_by=model,person')).body
  const named = data.find((row: Record<string, string>) => row.group === 'odd-1' && row.subgroup === owner.user_id)
  assert.deepEqual([named.name, named.subgroup_name], ['Odd', 'owner'])
  const single = (await get('usage?group_by=key')).body.data
  for (const { subgroup, subgroup_name } of single) assert.deepEqual([subgroup, subgroup_name], [null, null])
  assert.deepEqual(new Set(single.map(({ name }: { name: string }) => name)), new Set(['test', null]))
})

test('a member sees the names of people and keys as owners do, in JSON and CSV', async () => {
  for (const group_by of ['person', 'key', 'key,person']) {
    const mine = (await get(`usage?group_by=${group_by}`, member)).body.data
    const all = (await get(`usage?group_by=${group_by}`)).body.data
    assert.deepEqual(mine, all, group_by)
  }
  const { rows } = await csv('ledger.csv', member)
  assert.deepEqual(rows, (await csv('ledger.csv')).rows)
  assert.deepEqual(new Set(rows.map(({ person }) => person)), new Set(['member', 'owner', '']))
})

test('usage as CSV is the same sums', async () => {
  const { body } = await get('usage?group_by=day,person')
  const { rows, answer } = await csv('usage.csv?group_by=day,person')
  assert.match(answer.headers.get('content-disposition')!, /filename="usage-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv"/)
  assert.deepEqual(
    rows.map(({ day, person, person_name, amount }) => [day, person, person_name, amount]),
    body.data.map((row: Record<string, string>) => [row.group, row.subgroup, row.subgroup_name, row.amount]),
  )
})

test('400 for a period that ends before it begins or an invalid pair of groups; another organization sees none of the rows', async () => {
  for (const path of ['ledger.csv?from=10&to=9', 'usage.csv?from=10&to=9'])
    assertRefused(await get(path), { status: 400, code: 'invalid_value', param: 'from' })
  for (const pair of ['model,day', 'day,day', 'day,model,key', 'day,hour'])
    assertRefused(await get(`usage?group_by=${pair}`), { status: 400, code: 'invalid_value', param: 'group_by' })
  const rival = await newCustomer(app, { balance: 0n })
  assert.deepEqual((await csv('ledger.csv', rival)).rows, [])
  assert.deepEqual((await csv('usage.csv', rival)).rows, [])
  const head = await fetch(`${app.url}/console/ledger.csv`, { method: 'HEAD', headers: { cookie: owner.cookie } })
  assert.deepEqual([head.status, head.headers.get('content-type')], [200, 'text/csv; charset=utf-8'])
})
