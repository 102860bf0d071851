import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { runAudit } from '../../server/audit/audit.ts'
import { findStoredBytes, mergeStoredBytes } from '../../server/billing/storage/store.ts'
import { testDatabase } from '../support/data/postgres.ts'

const { pool, db, truncateAll, close } = await testDatabase()
after(close)
beforeEach(truncateAll)

const rows = async (): Promise<number> => Number((await pool.query('select count(*) from stored_bytes')).rows[0].count)
/** Invariants that are broken, of those that count what is stored. */
const miscounted = async () =>
  (await runAudit(db)).filter(({ invariant, violations }) => invariant === 'I33' && violations > 0)

/** Background responses in one statement, of `items` bytes each. */
function insertResponses(org_id: string, { count, items = 10 }: { count: number; items?: number }) {
  return pool.query(
    `insert into responses (id, org_id, user_id, request_id, model, status, background, body, size_bytes, other_bytes, created_at, request, next_run_at)
     select 'resp_' || $1 || n, $1, 'user', 'req', 'm', 'queued', true, '{}', $3, 100, now(), '{}', now() from generate_series(1, $2::int) n`,
    [org_id, count, items],
  )
}

test('inserts, growth and deletions of many rows count for the organization of each, and the claim of a row counts nothing', async () => {
  for (const org_id of ['a', 'b', 'c']) await insertResponses(org_id, { count: 500 })
  assert.deepEqual(await findStoredBytes(db, 'b'), {
    files: 0,
    videos: 0,
    responses: 500 * (4096 + 10 + 100),
    records: 0,
  })
  const before = await rows()
  await pool.query(`update responses set claim_id = 'x', claimed_until = now(), attempts = attempts + 1`)
  assert.equal(await rows(), before)
  await pool.query(`update responses set size_bytes = 30, other_bytes = 200 where org_id = 'b'`)
  await pool.query(`delete from responses where org_id = 'a' or id like '%7'`)
  assert.deepEqual(await findStoredBytes(db, 'a'), { files: 0, videos: 0, responses: 0, records: 0 })
  assert.deepEqual(await findStoredBytes(db, 'b'), {
    files: 0,
    videos: 0,
    responses: 450 * (4096 + 30 + 200),
    records: 0,
  })
  assert.deepEqual(await miscounted(), [])
})

test('the sweep leaves one row of each kind and changes no sum, beside writers that do not wait for it', async () => {
  const writer = await pool.connect()
  await writer.query('begin')
  await writer.query(
    `insert into files (id, org_id, user_id, purpose, filename, media_type, size_bytes, sha256, blob_key, created_at, expires_at)
     values ('file', 'a', 'u', 'vision', 'a', 't', 500, repeat('0', 64), 'k', now(), now() + interval '1 day')`,
  )
  for (const count of [3, 4]) await insertResponses(`${'ab'[count - 3]}`, { count })
  await mergeStoredBytes(db)
  assert.equal(await rows(), 2)
  await writer.query('commit')
  writer.release()
  const stored = { files: 4596, videos: 0, responses: 3 * 4206, records: 0 }
  assert.deepEqual(await findStoredBytes(db, 'a'), stored)
  await pool.query(`delete from responses where org_id = 'b'`)
  await mergeStoredBytes(db)
  assert.equal(await rows(), 2, 'nothing is kept of an organization that stores nothing')
  assert.deepEqual(await findStoredBytes(db, 'a'), stored)
  assert.deepEqual(await miscounted(), [])
})

test('the audit finds what was stored or deleted past the triggers', async () => {
  await insertResponses('a', { count: 1 })
  await pool.query(
    'alter table responses disable trigger user; delete from responses; alter table responses enable trigger user',
  )
  assert.deepEqual(
    (await miscounted()).map(({ violations }) => violations),
    [1],
  )
})
