import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../../server/platform/ids.ts'
import { readBacklogs } from '../../../server/webhooks/store/backlogs.ts'
import { insertBacklog } from '../../flow/webhooks/backlog-rows.ts'
import { runCommand } from '../../support/command.ts'
import { plansOf } from '../../support/data/plans.ts'
import { newCustomer, type TestPerson } from '../../support/http/app.ts'
import {
  canceledVideo,
  deliverDue,
  newEndpoint,
  startWebhooksApp,
  type WebhooksApp,
} from '../../support/webhooks/app.ts'

let webhooks: WebhooksApp
let other: TestPerson
/** Fails with status 503, and has one more event to send than was tried. */
let failing: string
/** Of another organization. */
let fine: string
before(async () => {
  webhooks = await startWebhooksApp()
  const { app, receiver } = webhooks
  other = await newCustomer(app)
  fine = (await newEndpoint({ app, person: other, receiver })).id
  failing = (await newEndpoint(webhooks, { name: 'Broken' })).id
  app.clock.set(new Date(Date.now() - 3 * 3_600_000))
  receiver.answer({ status: 503 })
  await canceledVideo(webhooks)
  await deliverDue(app)
  app.clock.set(new Date())
  await canceledVideo(webhooks)
})
after(() => webhooks.close())

const list = (...args: string[]) =>
  runCommand(['admin', 'webhook', 'list', ...args], { DATABASE_URL: webhooks.app.database.url })

// biome-ignore lint/suspicious/noExplicitAny: what the command prints.
async function data(...args: string[]): Promise<any[]> {
  const { code, stdout, stderr } = await list(...args, '--json')
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout).data
}
const ids = async (...args: string[]) => (await data(...args)).map(({ id }) => id)

test('webhook list --failing has endpoints that fail, with the last status, what waits and the next try', async () => {
  assert.deepEqual(await ids(), [failing, fine])
  assert.deepEqual(await ids('--org', other.org_id), [fine])
  assert.deepEqual(await ids('--failing', '--org', other.org_id), [])
  const [endpoint] = await data('--failing')
  const { id, organization_id, url, failing_since, waiting, last_status, last_error, last_try_at, next_try_at } =
    endpoint
  assert.deepEqual([id, organization_id, waiting], [failing, webhooks.person.org_id, 2])
  assert.deepEqual([url, last_status, last_error], [`${webhooks.receiver.url}/hook`, 503, 'status'])
  assert.equal(failing_since, last_try_at)
  assert.equal(Date.parse(next_try_at) - Date.parse(last_try_at), 5000)
  assert.deepEqual(
    Object.keys(endpoint).filter((name) => /secret/.test(name)),
    [],
  )
  const { stdout } = await list('--failing')
  assert.match(stdout, /^organiz\S+ +url +failing since +last status +waiting +next try\n/)
  assert.match(
    stdout,
    /\nAcme\S* +http\S+ +\d\d-\d\d \d\d:\d\dZ 3h +503 +2 +due 2h\n$|\nAcme\S* .* 3h +503 +2 +due \d+[mh]\n$/,
  )
})

test('webhook list has no cell of an endpoint that was never sent anything', async () => {
  const [endpoint] = await data('--org', other.org_id)
  const { failing_since, disabled_reason, waiting, next_try_at, last_status } = endpoint
  assert.deepEqual([failing_since, disabled_reason, waiting, next_try_at, last_status], [null, null, 0, null, null])
  assert.ok((await list()).stdout.split('\n').every(({ length }) => length <= 100))
})

test('webhook list reads a long backlog from indexes, some ten thousand entries of it at most', async () => {
  const { database } = webhooks.app
  const now = new Date()
  const endpoint_id = newId('webhook_endpoint', now)
  await insertBacklog(database, { org_id: 'org_1', endpoint_id, count: 12_000, until: now })
  await database.pool.query('analyze event_deliveries')
  const backlog = (await readBacklogs(database.db, [endpoint_id])).get(endpoint_id)!
  assert.deepEqual([backlog.waiting, backlog.last_try_at], [10_000, null])
  assert.equal(backlog.next_try_at!.getTime(), now.getTime() - 11_999_000)
  const [plan] = await plansOf(database, (db) => readBacklogs(db, [endpoint_id, failing]))
  for (const index of ['by_state', 'ready', 'of_endpoint']) assert.match(plan!, new RegExp(`event_deliveries_${index}`))
  assert.doesNotMatch(plan!, /Seq Scan|event_deliveries_(due|of_event)/)
})
