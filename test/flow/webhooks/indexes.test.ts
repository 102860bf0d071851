import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../../server/platform/ids.ts'
import { readDepth } from '../../../server/platform/queue/depth.ts'
import { listDeliveries } from '../../../server/webhooks/store/deliveries.ts'
import { deliveryClaims, measuredDeliveryQueue } from '../../../server/webhooks/store/delivery-claims.ts'
import { plansOf } from '../../support/data/plans.ts'
import { type TestDatabase, testDatabase } from '../../support/data/postgres.ts'
import { insertBacklog } from './backlog-rows.ts'

const NOW = new Date('2026-03-01T00:00:00Z')
const ENDPOINTS = Array.from({ length: 20 }, () => newId('webhook_endpoint', NOW))

let database: TestDatabase
before(async () => {
  database = await testDatabase()
  for (const [i, endpoint_id] of ENDPOINTS.entries()) {
    const state = i % 2 === 0 ? 'pending' : 'delivered'
    await insertBacklog(database, { ...{ org_id: 'org_1', endpoint_id, state }, count: 2000, until: NOW })
  }
  await database.pool.query('analyze event_deliveries, events')
})
after(() => database.close())

test('the depth of a long queue of deliveries is read from the index of due times', async () => {
  const [plan] = await plansOf(database, (db) => readDepth(db, measuredDeliveryQueue))
  assert.match(plan!, /Index Scan using event_deliveries_due/)
  assert.doesNotMatch(plan!, /Seq Scan|Sort/)
})

test('a claim reads the first deliveries of each endpoint from its own index', async () => {
  const claims = deliveryClaims({ owner: 8, organization: 32, all: 128 })
  const [plan] = await plansOf(database, (db) => claims.claim(db, { claim_id: 'w/1', now: NOW, limit: 100 }))
  assert.match(plan!, /Index (Only )?Scan using event_deliveries_ready/)
  assert.doesNotMatch(plan!, /event_deliveries_due|Seq Scan on event_deliveries/)
})

test('deliveries of one state are listed from the index of states, also where there are none', async () => {
  for (const state of ['failed', 'delivered'] as const) {
    const which = { org_id: 'org_1', endpoint_id: ENDPOINTS[1]!, state }
    const [plan] = await plansOf(database, (db) => listDeliveries(db, which, { after: null, limit: 50, order: 'desc' }))
    assert.match(plan!, /Index Scan Backward using event_deliveries_by_state/)
    assert.doesNotMatch(plan!, /Sort/)
  }
})
