import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { type ClaimedDelivery, deliveryClaims } from '../../../server/events/store/delivery-claims.ts'
import { insertSubscription } from '../../../server/events/store/subscriptions.ts'
import type { Db } from '../../../server/platform/db/db.ts'
import { newId } from '../../../server/platform/ids.ts'
import { type TestDatabase, testDatabase } from '../../support/data/postgres.ts'
import { insertBacklog } from './backlog-rows.ts'

const NOW = new Date('2026-03-01T00:00:00Z')
const SHARES = { owner: 8, organization: 10, all: 128 }

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

/** Claims of a process that is sending `count` deliveries of a subscription. */
function claimsBeside(count = 0, owners: { subscription_id: string; org_id: string } | null = null) {
  const claims = deliveryClaims(SHARES)
  for (let n = 0; n < count; n++) claims.under_way!.begin(owners as ClaimedDelivery)
  return claims
}

const claim = async (db: Db, limit: number, claims = claimsBeside()) =>
  (await claims.claim(db, { claim_id: 'w/1', now: NOW, limit })).map(({ subscription_id }) => subscription_id)

test('a claim locks the deliveries that it takes, those due the longest, and leaves all others to other processes', async () => {
  const [one, two] = [(await fill(2)).subscriptions, (await fill(2)).subscriptions]
  await database.db.transaction().execute(async (tx) => {
    assert.deepEqual((await claim(tx, 2)).sort(), [one[0], two[0]].sort())
    assert.equal((await claim(database.db, 100)).length, 2 * (SHARES.organization - 1))
  })
})

test('of an organization no more is claimed than its share, also from several subscriptions', async () => {
  const { org_id } = await fill(4)
  const claims = claimsBeside(3, { org_id, subscription_id: 'another' })
  assert.equal((await claim(database.db, 100, claims)).length, 7)
})

test('of two organizations the one with less under way comes first', async () => {
  const [busy, idle] = [await fill(3), await fill(3)]
  const claims = claimsBeside(5, { org_id: busy.org_id, subscription_id: 'another' })
  const claimed = await claim(database.db, 3, claims)
  assert.ok(claimed.every((id) => idle.subscriptions.includes(id)))
})

test('organizations that are slow to answer leave turns for one that has nothing under way, however many they are', async () => {
  await Promise.all(Array.from({ length: 16 }, () => fill(1)))
  const claims = claimsBeside()
  let taken = 0
  for (let round = 0; round < 10; round++) {
    const wanted = { claim_id: 'w/1', now: NOW, limit: SHARES.all - taken }
    const claimed = await claims.claim(database.db, wanted)
    for (const each of claimed) claims.under_way!.begin(each)
    taken += claimed.length
  }
  const { subscriptions } = await fill(1)
  const claimed = await claim(database.db, SHARES.all - taken, claims)
  assert.ok(claimed.length > 0 && claimed.every((id) => id === subscriptions[0]), `${claimed.length} beside ${taken}`)
})

test('a subscription whose share is under way takes no turn of another', async () => {
  const { org_id, subscriptions } = await fill(2)
  const claims = claimsBeside(8, { org_id, subscription_id: subscriptions[0]! })
  assert.deepEqual(await claim(database.db, 1, claims), [subscriptions[1]])
})
