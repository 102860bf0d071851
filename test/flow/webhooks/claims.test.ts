import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { deliveryClaims, type Sending } from '../../../server/events/store/delivery-claims.ts'
import { insertSubscription } from '../../../server/events/store/subscriptions.ts'
import type { Db } from '../../../server/platform/db/db.ts'
import { newId } from '../../../server/platform/ids.ts'
import { type TestDatabase, testDatabase } from '../../support/data/postgres.ts'
import { insertBacklog } from './backlog-rows.ts'

const NOW = new Date('2026-03-01T00:00:00Z')
const SHARE = { subscription: 8, organization: 10, all: 128 }
const NONE: Sending = { subscriptions: new Map(), organizations: new Map() }

const database: TestDatabase = await testDatabase()
after(() => database.close())
beforeEach(async () => database.truncateAll())

/** Subscriptions of one organization with eight deliveries each, the first subscription's due first. */
async function fill(count: number): Promise<{ org_id: string; subscriptions: string[] }> {
  const org_id = newId('org')
  await database.pool.query(
    "insert into organizations (id, name, name_key, slug, plan, created_at) values ($1, $1, $1, $1, 'free', now())",
    [org_id],
  )
  const subscriptions: string[] = []
  for (let n = 0; n < count; n++) {
    const id = newId('webhook_endpoint')
    const until = new Date(NOW.getTime() - (count - n) * 60_000)
    await database.db
      .transaction()
      .execute((tx) =>
        insertSubscription(tx, { id, org_id, event_types: [], low_balance: 0n, enabled: true, since: NOW }),
      )
    await insertBacklog(database, { org_id, subscription_id: id, count: 8, until })
    subscriptions.push(id)
  }
  return { org_id, subscriptions }
}
const claim = async (db: Db, limit: number, sending = NONE) =>
  (await deliveryClaims(sending, SHARE).claim(db, { claim_id: 'w/1', now: NOW, limit })).map(
    ({ subscription_id }) => subscription_id,
  )

test('a claim locks the deliveries that it takes, those due the longest, and leaves all others to other processes', async () => {
  const [one, two] = [(await fill(2)).subscriptions, (await fill(2)).subscriptions]
  await database.db.transaction().execute(async (tx) => {
    assert.deepEqual((await claim(tx, 2)).sort(), [one[0], two[0]].sort())
    assert.equal((await claim(database.db, 100)).length, 2 * (SHARE.organization - 1))
  })
})

test('of an organization no more is claimed than its share, also from several subscriptions', async () => {
  const { org_id } = await fill(4)
  assert.equal((await claim(database.db, 100, { ...NONE, organizations: new Map([[org_id, 3]]) })).length, 7)
})

test('of two organizations the one with less under way comes first', async () => {
  const [busy, idle] = [await fill(3), await fill(3)]
  const claimed = await claim(database.db, 3, { ...NONE, organizations: new Map([[busy.org_id, 5]]) })
  assert.ok(claimed.every((id) => idle.subscriptions.includes(id)))
})

test('organizations that are slow to answer leave turns for one that has nothing under way, however many they are', async () => {
  const slow = await Promise.all(Array.from({ length: 16 }, () => fill(1)))
  const sending = { subscriptions: new Map<string, number>(), organizations: new Map<string, number>() }
  const owners = new Map(slow.map(({ org_id, subscriptions: [id] }) => [id!, org_id]))
  for (let claims = 0; claims < 10; claims++) {
    const taken = [...sending.organizations.values()].reduce((sum, n) => sum + n, 0)
    for (const id of await claim(database.db, SHARE.all - taken, sending)) {
      sending.subscriptions.set(id, (sending.subscriptions.get(id) ?? 0) + 1)
      sending.organizations.set(owners.get(id)!, (sending.organizations.get(owners.get(id)!) ?? 0) + 1)
    }
  }
  const taken = [...sending.organizations.values()].reduce((sum, n) => sum + n, 0)
  const { subscriptions } = await fill(1)
  const claimed = await claim(database.db, SHARE.all - taken, sending)
  assert.ok(claimed.length > 0 && claimed.every((id) => id === subscriptions[0]), `${claimed.length} beside ${taken}`)
})

test('a subscription whose share is under way takes no turn of another', async () => {
  const { subscriptions } = await fill(2)
  const sending = { ...NONE, subscriptions: new Map([[subscriptions[0]!, 8]]) }
  assert.deepEqual(await claim(database.db, 1, sending), [subscriptions[1]])
})
