import { sql } from 'kysely'
import type pg from 'pg'
import { systemClock } from '../../../server/platform/clock.ts'
import { type Changes, openChanges } from '../../../server/platform/db/changes.ts'
import type { Db } from '../../../server/platform/db/db.ts'
import { type Claimed, type Claims, claimsOn } from '../../../server/platform/queue/claims.ts'
import {
  type ConsumerOptions,
  type JobConsumer,
  QUEUE_TOPIC,
  startConsumer,
} from '../../../server/platform/queue/consumer.ts'
import { testDatabase } from '../../support/data/postgres.ts'

export type Row = Claimed & { n: number }

/** A queue of one small table, and workers on it. */
export type TestQueue = {
  url: string
  db: Db
  pool: pg.Pool
  changes: Changes
  claims: Claims<Row>
  /** Starts a worker, which `clear` stops. */
  work(options: Partial<ConsumerOptions<Row>> & Pick<ConsumerOptions<Row>, 'run'>): JobConsumer<Row>
  /** Adds rows that are due, and announces them. */
  add(...ids: string[]): Promise<void>
  /** Ends the work on a row: what `run` returns when it is done. */
  finish(row: Claimed): Promise<null>
  rowOf(id: string): Promise<Row & { done: boolean }>
  /** Stops the workers and removes the rows. */
  clear(): Promise<void>
  close(): Promise<void>
}

export async function openTestQueue(): Promise<TestQueue> {
  const { db, pool, url, close } = await testDatabase()
  await pool.query(`
    create table queue_rows (id text primary key, n int not null default 0, done boolean not null default false,
      due_at timestamptz not null default now(), claim_id text, claimed_until timestamptz);
    create index queue_rows_ready on queue_rows (due_at) where not done and claim_id is null;
    create index on queue_rows (claimed_until) where claimed_until is not null`)
  const changes = await openChanges({ db, url })
  const claims = claimsOn<Row>({ table: 'queue_rows', due: 'due_at', open: sql`not done` })
  const started: JobConsumer<Row>[] = []
  return {
    url,
    db,
    pool,
    changes,
    claims,
    work(options) {
      const worker = startConsumer<Row>({
        ...{
          db,
          clock: systemClock,
          changes,
          queue: 'rows',
          claims,
          concurrency: 4,
          sole: false,
          polling_seconds: 0.1,
        },
        stop_seconds: { finish: 0, abort: 0.2 },
        on_error: () => {},
        ...options,
      })
      started.push(worker)
      return worker
    },
    async add(...ids) {
      await pool.query('insert into queue_rows (id) select * from unnest($1::text[])', [ids])
      changes.announce(QUEUE_TOPIC, 'rows')
    },
    async finish({ id }) {
      await pool.query('update queue_rows set done = true, claim_id = null, claimed_until = null where id = $1', [id])
      return null
    },
    rowOf: async (id) => (await pool.query('select * from queue_rows where id = $1', [id])).rows[0],
    async clear() {
      await Promise.all(started.splice(0).map((worker) => worker.stop()))
      await pool.query('truncate queue_rows')
    },
    async close() {
      await changes.close()
      await close()
    },
  }
}

/** Remembers ids, and resolves `all` once there are `count` of them. */
export function collector(count: number) {
  const ids: string[] = []
  const { promise, resolve } = Promise.withResolvers<string[]>()
  return {
    ids,
    all: promise,
    see(id: string) {
      ids.push(id)
      if (ids.length >= count) resolve(ids)
    },
  }
}
