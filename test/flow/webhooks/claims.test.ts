import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import type { Db } from '../../../server/platform/db/db.ts'
import { newId } from '../../../server/platform/ids.ts'
import { type ClaimedDelivery, deliveryClaims } from '../../../server/webhooks/store/delivery-claims.ts'
import { type EndpointRow, insertEndpoint } from '../../../server/webhooks/store/endpoints.ts'
import { type TestDatabase, testDatabase } from '../../support/data/postgres.ts'
import { insertBacklog } from './backlog-rows.ts'

const NOW = new Date('2026-03-01T00:00:00Z')
const SHARES = { owner: 8, organization: 10, all: 128 }

const database: TestDatabase = await testDatabase()
after(() => database.close())
beforeEach(async () => database.truncateAll())

/** Endpoints of one organization with eight deliveries each, the first endpoint's due first. */
async function fill(count: number): Promise<{ org_id: string; endpoints: string[] }> {
  const org_id = newId('org')
  await database.pool.query(
    "insert into organizations (id, name, name_key, slug, plan, created_at) values ($1, $1, $1, $1, 'free', now())",
    [org_id],
  )
  const endpoints: string[] = []
  for (let n = 0; n < count; n++) {
    const id = newId('webhook_endpoint')
    const until = new Date(NOW.getTime() - (count - n) * 60_000)
    const endpoint: EndpointRow = {
      id,
      org_id,
      name: id,
      url: 'https://example.com/',
      created_at: NOW,
      updated_at: NOW,
      event_types: [],
      low_balance: 0n,
      listens_since: NOW,
      disabled_reason: null,
      failing_since: null,
      secret: '',
      secret_hint: '',
      previous_secret: null,
      previous_secret_until: null,
    }
    await database.db.transaction().execute((tx) => insertEndpoint(tx, endpoint))
    await insertBacklog(database, { org_id, endpoint_id: id, count: 8, until })
    endpoints.push(id)
  }
  return { org_id, endpoints }
}

/** Claims of a process that is sending `count` deliveries of an endpoint. */
function claimsBeside(count = 0, owners: { endpoint_id: string; org_id: string } | null = null) {
  const claims = deliveryClaims(SHARES)
  for (let n = 0; n < count; n++) claims.under_way!.begin(owners as ClaimedDelivery)
  return claims
}

const claim = async (db: Db, limit: number, claims = claimsBeside()) =>
  (await claims.claim(db, { claim_id: 'w/1', now: NOW, limit })).map(({ endpoint_id }) => endpoint_id)

test('a claim locks the deliveries that it takes, those due the longest, and leaves all others to other processes', async () => {
  const [one, two] = [(await fill(2)).endpoints, (await fill(2)).endpoints]
  await database.db.transaction().execute(async (tx) => {
    assert.deepEqual((await claim(tx, 2)).sort(), [one[0], two[0]].sort())
    assert.equal((await claim(database.db, 100)).length, 2 * (SHARES.organization - 1))
  })
})

test('of an organization no more is claimed than its share, also from several endpoints', async () => {
  const { org_id } = await fill(4)
  const claims = claimsBeside(3, { org_id, endpoint_id: 'another' })
  assert.equal((await claim(database.db, 100, claims)).length, 7)
})

test('of two organizations the one with less under way comes first', async () => {
  const [busy, idle] = [await fill(3), await fill(3)]
  const claims = claimsBeside(5, { org_id: busy.org_id, endpoint_id: 'another' })
  const claimed = await claim(database.db, 3, claims)
  assert.ok(claimed.every((id) => idle.endpoints.includes(id)))
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
  const { endpoints } = await fill(1)
  const claimed = await claim(database.db, SHARES.all - taken, claims)
  assert.ok(claimed.length > 0 && claimed.every((id) => id === endpoints[0]), `${claimed.length} beside ${taken}`)
})

test('an endpoint whose share is under way takes no turn of another', async () => {
  const { org_id, endpoints } = await fill(2)
  const claims = claimsBeside(8, { org_id, endpoint_id: endpoints[0]! })
  assert.deepEqual(await claim(database.db, 1, claims), [endpoints[1]])
})
