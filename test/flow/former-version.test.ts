import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { findStoredBytes } from '../../server/billing/storage/store.ts'
import { MIGRATIONS_DIR, migrate } from '../../server/platform/db/migrate.ts'
import { withAttempts } from '../../server/videos/pipeline/store.ts'
import { findForeignRenders, hasUnsettledStart } from '../../server/videos/render/store.ts'
import { findJobOfAnyOrg } from '../../server/videos/store.ts'
import { findEndpointOfAnyOrg } from '../../server/webhooks/store/endpoints.ts'
import { testDatabase } from '../support/data/postgres.ts'

const { pool, db, close } = await testDatabase()
after(close)

/** The schema of version 0.1.0. */
beforeEach(async () => {
  await pool.query('drop schema public cascade; create schema public')
  await migrate(pool, MIGRATIONS_DIR, { up_to: 1 })
})
const upgrade = () => migrate(pool, MIGRATIONS_DIR)
const NOW = new Date('2026-11-26T00:00:00Z')

/** A job as version 0.1.0 stores it. */
async function jobOf(id: string, columns: Record<string, unknown> = {}): Promise<void> {
  const all = {
    id,
    org_id: 'org',
    user_id: 'user',
    request_id: 'req',
    model: 'm',
    prompt: 'p',
    seconds: 4,
    ...JOB,
    ...columns,
  }
  const names = Object.keys(all)
  await pool.query(
    `insert into video_jobs (${names.join()}) values (${names.map((_, i) => `$${i + 1}`).join()})`,
    Object.values(all),
  )
}
const JOB = {
  aspect_ratio: '16:9',
  inputs: '[]',
  per_second: 1,
  cost: 4,
  currency: 'usd',
  created_at: NOW,
  next_run_at: NOW,
  status: 'queued',
  moderated_at: NOW,
  queued_at: NOW,
}
const RENDERING = {
  status: 'in_progress',
  render_started_at: NOW,
  attempt_id: 'att_1',
  attempt_started_at: NOW,
  attempts: 3,
  engine: 'own',
  engine_address: 'here',
  ticket: '{"id": 1}',
}
const job = async (id: string) => (await withAttempts(db, [(await findJobOfAnyOrg(db, id))!]))[0]!
const rendersOfOthers = (render_key: string, job_id: string) =>
  findForeignRenders(db, { render_keys: [render_key], job_id })

test('an upgrade carries over running renders, unsettled starts and the names of renders', async () => {
  await jobOf('running', RENDERING)
  await jobOf('asked', {
    attempt_id: 'att_2',
    attempt_started_at: NOW,
    start_unknown: true,
    unknown_starts: 1,
    start_key: 'k',
  })
  await jobOf('waiting')
  await pool.query(
    `insert into video_renders values ('r1', 'running', $1), ('r0', 'running', $1::timestamptz - interval '1 day'), ('r2', 'gone', $1)`,
    [NOW],
  )
  await pool.query(`insert into video_unsettled_starts values ('left', 'k2', $1)`, [NOW])
  await upgrade()
  const { attempt } = await job('running')
  const { id, state, engine, engine_address, ticket, render_key, paid } = attempt!
  assert.deepEqual(
    [id, state, engine, engine_address, ticket, render_key, paid],
    ['att_1', 'rendering', 'own', 'here', { id: 1 }, 'r1', false],
  )
  assert.deepEqual([(await job('asked')).attempt?.state, (await job('waiting')).attempt], ['unknown', null])
  for (const key of ['r0', 'r1', 'r2']) assert.equal((await rendersOfOthers(key, 'another')).size, 1, key)
  const since = new Date(NOW.getTime() - 3600_000)
  assert.equal(await hasUnsettledStart(db, { start_key: 'k2', job_id: 'another', since }), true)
})

test('an upgrade keeps what each webhook endpoint listens to, and what waits for it', async () => {
  await pool.query(
    `insert into organizations (id, name, name_key, slug, plan, created_at) values ('org', 'o', 'o', 'o', 'free', $1)`,
    [NOW],
  )
  await pool.query(
    `insert into event_subscriptions (id, org_id, event_types, low_balance, enabled, since) values ('whe', 'org', '{video.failed}', 7, false, $1)`,
    [NOW],
  )
  await pool.query(
    `insert into webhook_endpoints (id, org_id, name, url, secret, secret_hint, created_at, updated_at, disabled_reason)
     values ('whe', 'org', 'n', 'https://example.com/', 's', 'h', $1, $1, 'gone')`,
    [NOW],
  )
  await pool.query(
    `insert into events (id, org_id, type, subject_id, created_at) values ('evt', 'org', 'video.failed', 'v', $1)`,
    [NOW],
  )
  await pool.query(
    `insert into event_deliveries (id, event_id, subscription_id, org_id, state, next_try_at) values ('evt/whe', 'evt', 'whe', 'org', 'pending', $1)`,
    [NOW],
  )
  await upgrade()
  const { event_types, low_balance, listens_since, disabled_reason } = (await findEndpointOfAnyOrg(db, 'whe'))!
  assert.deepEqual([event_types, low_balance, listens_since, disabled_reason], [['video.failed'], 7n, NOW, 'gone'])
  const { rows } = await pool.query('select id, endpoint_id, state from event_deliveries')
  assert.deepEqual(rows, [{ id: 'evt/whe', endpoint_id: 'whe', state: 'pending' }])
})

test('an upgrade counts what is stored, and nothing is below zero once that is deleted', async () => {
  const output = { blob_key: 'k', output_sha256: 's', output_size_bytes: 1_000_000 }
  const done = { status: 'completed', completed_at: NOW, finished_at: NOW, progress: 100, ...output }
  await jobOf('done', done)
  await jobOf('waiting')
  await pool.query(
    `insert into files (id, org_id, user_id, purpose, filename, media_type, size_bytes, sha256, blob_key, created_at, expires_at)
     values ('file', 'org', 'u', 'vision', 'a', 't', 500, repeat('0', 64), 'k', $1, $1::timestamptz + interval '1 day')`,
    [NOW],
  )
  await pool.query(
    `insert into responses (id, org_id, user_id, request_id, model, status, background, body, size_bytes, created_at, completed_at, finished_at)
     values ('resp', 'org', 'u', 'r', 'm', 'completed', false, '{}', 300, $1, $1, $1)`,
    [NOW],
  )
  await pool.query(`insert into events values ('event', 'org', 'video.completed', 'done', $1)`, [NOW])
  await pool.query(
    `insert into moderation_records (id, job_id, org_id, user_id, stage, verdict, categories, engine, version, text_digest, file_sha256s, created_at)
     values ('record', 'done', 'org', 'u', 'prompt', 'allow', '{}', 'e', '1', 'd', '{}', $1)`,
    [NOW],
  )
  await upgrade()
  const stored = {
    files: 4096 + 500,
    videos: 2 * (4096 + 1) + 1_000_000,
    responses: 4096 + 300,
    records: 512 + 1024 + 4096,
  }
  assert.deepEqual(await findStoredBytes(db, 'org'), stored)
  await pool.query(
    'delete from files; delete from responses; delete from video_jobs; delete from events; delete from moderation_records',
  )
  assert.deepEqual(await findStoredBytes(db, 'org'), { files: 0, videos: 0, responses: 0, records: 0 })
})
