import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import { readDepth } from '../../../server/platform/queue/depth.ts'
import {
  type ClaimedResponse,
  measuredResponseQueue,
  responseClaims,
} from '../../../server/responses/background/claims.ts'
import { countUnfinished } from '../../../server/responses/stored/store/responses.ts'
import { plansOf } from '../../support/data/plans.ts'
import { type TestDatabase, testDatabase } from '../../support/data/postgres.ts'

const NOW = new Date('2026-03-01T00:00:00Z')
const SHARE = 8

const database: TestDatabase = await testDatabase()
after(() => database.close())
beforeEach(async () => database.truncateAll())

/** Background responses of an organization that wait, the last one due at NOW, one minute between two. */
async function fill(org_id: string, count: number, model = 'm'): Promise<void> {
  await database.pool.query(
    `insert into responses (id, org_id, user_id, request_id, model, status, background, body, size_bytes, created_at, request, next_run_at)
     select 'resp_' || $1 || $3 || n, $1, 'user', 'req', $3, 'queued', true, '{}', 0, $4, '{}', $4::timestamptz - n * interval '1 minute'
     from generate_series(0, $2::int - 1) n`,
    [org_id, count, model, NOW],
  )
}

type Counts = Record<string, number>

/** Claims of a worker that runs this many responses of these organizations. */
function claimsBeside(running: Counts = {}) {
  const claims = responseClaims(SHARE)
  for (const [org_id, count] of Object.entries(running))
    for (let n = 0; n < count; n++) claims.under_way!.begin({ org_id } as ClaimedResponse)
  return claims
}

/** What one claim takes, as a number of each organization. */
async function claimed(running: Counts = {}, { limit = 100, only = sql`true` } = {}): Promise<Counts> {
  const rows = await claimsBeside(running).claim(database.db, { claim_id: 'w/1', now: NOW, limit, only })
  const counts: Counts = {}
  for (const { org_id } of rows) counts[org_id] = (counts[org_id] ?? 0) + 1
  return counts
}

/** Time limits are not in the query. */
const CONFIGURED = {} as Parameters<typeof measuredResponseQueue>[0]

test('an organization has no more running than its share, and what is due the longest is taken', async () => {
  await fill('slow', 20)
  const rows = await claimsBeside({ slow: 2 }).claim(database.db, { claim_id: 'w/1', now: NOW, limit: 100 })
  assert.deepEqual(
    rows.map(({ id }) => id).sort(),
    ['14', '15', '16', '17', '18', '19'].map((n) => `resp_slowm${n}`),
  )
  assert.deepEqual([...new Set(rows.map(({ attempts, claim_id }) => `${attempts} ${claim_id}`))], ['1 w/1'])
  assert.equal(await countUnfinished(database.db, 'slow'), 20)
})

test('beside an organization that has its share running there is room for another', async () => {
  await fill('slow', 20)
  await fill('quick', 1)
  assert.deepEqual(await claimed({ slow: SHARE }), { quick: 1 })
})

test('of two organizations the one with fewer running comes first', async () => {
  await fill('busy', 10)
  await fill('idle', 2)
  assert.deepEqual(await claimed({ busy: 2 }, { limit: 3 }), { idle: 2, busy: 1 })
})

test('what a worker cannot run takes no turn of what it can', async () => {
  await fill('mixed', 20, 'unknown')
  await fill('mixed', 2)
  assert.deepEqual(await claimed({}, { only: sql`model = 'm'` }), { mixed: 2 })
})

test('the end of one run is reported while those of any organization may wait for it', async () => {
  const claims = claimsBeside({ many: SHARE - 1, few: 1 })
  await fill('many', 1)
  assert.deepEqual(await claims.claim(database.db, { claim_id: 'w/1', now: NOW, limit: 8 }), [])
  assert.equal(claims.under_way!.end({ org_id: 'few' } as ClaimedResponse), true)
  assert.equal((await claims.claim(database.db, { claim_id: 'w/1', now: NOW, limit: 9 })).length, 1)
  assert.equal(claims.under_way!.end({ org_id: 'many' } as ClaimedResponse), false)
})

test('a claim reads the first responses of each organization, and the depth of the queue those due the longest', async () => {
  for (let n = 0; n < 10; n++) await fill(`org_${n}`, 1000)
  await database.pool.query('analyze responses')
  const claims = responseClaims(SHARE)
  const [claim] = await plansOf(database, (db) => claims.claim(db, { claim_id: 'w/1', now: NOW, limit: 100 }))
  assert.match(claim!, /Index (Only )?Scan using responses_waiting/)
  assert.doesNotMatch(claim!, /responses_ready|Seq Scan on responses/)
  const [depth] = await plansOf(database, (db) => readDepth(db, measuredResponseQueue(CONFIGURED)))
  assert.match(depth!, /Index Scan using responses_ready/)
  const [count] = await plansOf(database, (db) => countUnfinished(db, 'org_1'))
  assert.doesNotMatch(count!, /Seq Scan on responses/)
})
