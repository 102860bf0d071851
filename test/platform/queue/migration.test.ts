import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { MIGRATIONS_DIR, migrate } from '../../../server/platform/db/migrate.ts'
import { testDatabase } from '../../support/data/postgres.ts'
import { tempDir } from '../../support/service.ts'

const { pool, close } = await testDatabase()
const temp = tempDir()
after(close)
after(temp.remove)

const NUMBER = 19

/** A database as the version before left it, with its wake-ups in the tables of pg-boss, and another program's queue where said. */
async function earlierDatabase(options: { foreign_queue: boolean }): Promise<void> {
  const before = join(temp.path, String(options.foreign_queue))
  mkdirSync(before)
  for (const file of readdirSync(MIGRATIONS_DIR)) {
    if (Number(file.slice(0, 4)) < NUMBER) copyFileSync(join(MIGRATIONS_DIR, file), join(before, file))
  }
  await pool.query('drop schema public cascade; create schema public; drop schema if exists pgboss cascade')
  await migrate(pool, before)
  await pool.query(`
    create schema pgboss;
    create table pgboss.queue (name text primary key);
    create table pgboss.job (id uuid default gen_random_uuid(), name text, data jsonb, state text);
    insert into pgboss.queue values ('videos'), ('video-cancels'), ('responses'), ('__pgboss__send-it')`)
  if (options.foreign_queue) {
    await pool.query(`insert into pgboss.queue values ('mails');
                      insert into pgboss.job (name, data, state) values ('mails', '{}', 'created')`)
  }
  const job = `insert into video_jobs (id, org_id, user_id, request_id, model, prompt, seconds, aspect_ratio, inputs, per_second, cost, currency,
      created_at, next_run_at, status, finished_at, attempt_id, ticket, start_key, claim_id, claimed_until)
    values ($1, 'org', 'user', 'req', 'm', 'p', 4, '16:9', '[]', 1, 4, 'usd', now(), now(), $2, $3, 'a', $4, 'key-' || $1, $5, $6)`
  const later = new Date(Date.now() + 60_000)
  await pool.query(job, ['open', 'in_progress', null, '{}', 'worker/1', later])
  await pool.query(job, ['starting', 'queued', null, null, null, null])
  await pool.query(job, ['to-stop', 'canceled', new Date(), '{}', null, null])
  await pool.query(job, ['stopped', 'canceled', new Date(), '{}', null, null])
  await pool.query(`insert into pgboss.job (name, data, state) values
    ('videos', '{"id": "open"}', 'active'), ('video-cancels', '{"id": "to-stop"}', 'created'),
    ('video-cancels', '{"id": "stopped"}', 'completed')`)
}

async function jobs(): Promise<Record<string, unknown>> {
  const { rows } = await pool.query(
    'select id, cancel_due_at is not null as to_stop, start_key, claim_id from video_jobs',
  )
  return Object.fromEntries(rows.map(({ id, ...rest }) => [id, rest]))
}

test('rows keep their claims and times, renders that are to be stopped stay so, and the older queue goes', async () => {
  await earlierDatabase({ foreign_queue: false })
  await migrate(pool)
  assert.deepEqual(await jobs(), {
    open: { to_stop: false, start_key: null, claim_id: 'worker/1' },
    starting: { to_stop: false, start_key: 'key-starting', claim_id: null },
    'to-stop': { to_stop: true, start_key: null, claim_id: null },
    stopped: { to_stop: false, start_key: null, claim_id: null },
  })
  const { rows } = await pool.query(`select to_regclass('pgboss.job') as job`)
  assert.equal(rows[0].job, null)
})

test("another program's queues in the same schema stay as they are", async () => {
  await earlierDatabase({ foreign_queue: true })
  await migrate(pool)
  const { rows } = await pool.query('select name from pgboss.job')
  assert.deepEqual(rows, [{ name: 'mails' }])
})
