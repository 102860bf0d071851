import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { runCommand } from '../../support/command.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { submit } from '../../support/http/videos-app.ts'

let app: TestApp
let first: TestPerson
let second: TestPerson
before(async () => {
  app = await startApp()
  first = await newCustomer(app)
  second = await newCustomer(app)
})
after(() => app.close())

const admin = (...args: string[]) => runCommand(['admin', ...args], { DATABASE_URL: app.database.url })

// biome-ignore lint/suspicious/noExplicitAny: lists of several shapes.
async function json(...args: string[]): Promise<any> {
  const { code, stdout, stderr } = await admin(...args, '--json')
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}
const idsOf = (list: { data: Array<{ id: string }> }) => list.data.map(({ id }) => id)

test('org list shows plan, members, balance and held amount, newest first, and marks a cut-off list', async () => {
  const all = await json('org', 'list')
  assert.deepEqual(idsOf(all), [second.org_id, first.org_id])
  const { name, created_at, ...facts } = all.data[0]
  assert.deepEqual(facts, { id: second.org_id, plan: 'free', members: 1, balance: '100.00000000', held: '0.00000000' })
  assert.match(name, /^Acme/)
  assert.ok(Date.parse(created_at) > 0)
  assert.equal(all.has_more, false)
  const one = await json('org', 'list', '--limit', '1')
  assert.deepEqual([idsOf(one), one.has_more], [[second.org_id], true])
})

test('user list shows each person with organization and role, optionally of one organization', async () => {
  const colleague = await newColleague(app, first.org_id)
  const people = await json('user', 'list', '--org', first.org_id)
  assert.deepEqual(idsOf(people), [colleague.user_id, first.user_id])
  const { memberships, two_factor, email } = people.data[0]
  assert.deepEqual([email, two_factor], [colleague.email, false])
  assert.match(memberships, /^member of Acme/)
  assert.equal((await json('user', 'list')).data.length, 3)
})

test('key list shows good and revoked keys without the keys', async () => {
  await send(app, 'DELETE', `/console/api_keys/${second.key_id}`, second)
  const keys = await json('key', 'list', '--org', second.org_id)
  assert.deepEqual(idsOf(keys), [second.key_id])
  const { hint, email, organization, key_hash } = keys.data[0]
  assert.deepEqual([email, key_hash], [second.email, undefined])
  assert.match(hint, /^kin_\.\.\./)
  assert.match(organization, /^Acme/)
  assert.ok(!JSON.stringify(keys).includes(second.key))
})

test('job list shows status and cost, and never a prompt', async () => {
  const { body } = await submit(app, first, { prompt: 'canary in the prompt' })
  const jobs = await json('job', 'list', '--org', first.org_id)
  assert.deepEqual(idsOf(jobs), [body.id])
  const { status, cost, model, seconds, error } = jobs.data[0]
  assert.deepEqual([status, cost, model, seconds, error], ['moderating', '0.04000000 usd', 'instant-1', 4, null])
  assert.ok(!JSON.stringify(jobs).includes('canary'))
  assert.deepEqual((await json('job', 'list', '--org', second.org_id)).data, [])
})

test('a list without --json is a table with a heading, or a line when empty; stderr names the database', async () => {
  const { code, stdout, stderr } = await admin('org', 'list')
  assert.equal(code, 0, stderr)
  const [heading, row] = stdout.split('\n')
  assert.match(heading!, /^id +name +plan +members +balance +held +created_at$/)
  assert.equal(row!.indexOf('free'), heading!.indexOf('plan'))
  assert.equal((await admin('job', 'list', '--org', second.org_id)).stdout, 'none\n')
  assert.match(stderr, /^kinora admin org list: working on the database .+ of DATABASE_URL\n$/)
  assert.doesNotMatch(stderr, /password|:.*@/)
  for (const limit of ['0', '1001', 'x']) assert.equal((await admin('org', 'list', '--limit', limit)).code, 2)
})
