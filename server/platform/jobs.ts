import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { PgBoss } from 'pg-boss'
import type { Db } from './db.ts'
import { type Claim, startWorker, type WakeHandler, type Worker } from './jobs-worker.ts'
import { type Listening, listen } from './notify.ts'

/** Wake-ups: durable notes that a row wants attention. The row is the truth; a note says only which. */
export type Wakes = {
  /** Leaves a wake-up for the row `id`, or each of several, visible when the caller's transaction commits, due after `after_seconds`. */
  wake(tx: Db, queue: string, id: string | readonly string[], options?: { after_seconds?: number }): Promise<void>
  /** Handles a queue, up to `concurrency` wake-ups at a time, until `stop`. A handler that throws is called again later. */
  work(queue: string, handler: WakeHandler, options: { concurrency: number }): Promise<void>
  start(): Promise<void>
  /** Ends the workers: short work may finish, long work is told by its signal, and what is left is handed back. */
  stop(): Promise<void>
}

export type WakesOptions = {
  url: string
  db: Db
  /** Every queue of the product. */
  queues: readonly string[]
  /** `send` for processes that only leave wake-ups: no workers, no maintenance. */
  role: 'send' | 'work'
  /** Set where the data directory's lock proves that no other worker lives: what a dead one held is freed at once. */
  sole_worker?: boolean
  /** The backstop behind notifications, and the precision of `after_seconds`. */
  polling_seconds?: number
  /** How long `stop` lets handlers finish before it aborts them. */
  drain_seconds?: number
  on_error?: (error: unknown, queue?: string) => void
}

/** A worker silent for this long is dead. 10 is pg-boss's least. */
const HEARTBEAT_SECONDS = 10

/** Above any handler's life, which the limits of its own step bound: heartbeats find the dead. pg-boss's most is a day. */
const EXPIRE_SECONDS = 12 * 3600

/** A wake-up that fails comes again after 1 s, then ever later, for about a day; then the sweep's turn begins. */
const RETRY = { retryLimit: 100, retryDelay: 1, retryBackoff: true, retryDelayMax: 900 }

/** Wake-ups left within this time are announced together, when most of their transactions have committed. */
const HINT_MILLISECONDS = 5

const CHANNEL = 'kinora_wakes'

/** Opens wake-ups over pg-boss's tables, which `installWakes` or a worker's `start` has made. Call `start` before `work`. */
export function openWakes(options: WakesOptions): Wakes {
  const { url, db, queues, role, polling_seconds = 1, drain_seconds = 5 } = options
  const onError = options.on_error ?? (() => {})
  const boss = role === 'work' ? newBoss(url, onError) : null
  const workers = new Map<string, Worker>()
  const hint = openHints(db)
  let listening: Listening | null = null

  return {
    async wake(tx, queue, id, { after_seconds = 0 } = {}) {
      await insertWakes(tx, queue, typeof id === 'string' ? [id] : id, after_seconds)
      if (after_seconds <= 0) hint(queue)
    },

    async work(queue, handler, { concurrency }) {
      assert(boss, 'this process only sends')
      const handBack = (jobs: Claim[]) => handBackNow(db, queue, jobs)
      const settings = { queue, concurrency, polling_seconds, handler, on_error: onError, hand_back: handBack }
      workers.set(queue, startWorker(boss, settings))
    },

    async start() {
      if (!boss) return
      await boss.start()
      await ensureQueues(boss, queues)
      await freeLost()
      listening = await listen(url, CHANNEL, (queue) => workers.get(queue)?.nudge(), { onReconnect: lookAgain })
    },

    async stop() {
      await listening?.close()
      await Promise.all([...workers.values()].map((worker) => worker.stop({ drain_seconds })))
      await boss?.stop({ graceful: false })
    },
  }

  /** What is claimed by nobody alive: of a killed service, or of a statement whose answer was lost in an outage. */
  async function freeLost(): Promise<void> {
    const held = [...workers.values()].flatMap((worker) => worker.held())
    if (options.sole_worker) await freeAllBut(db, queues, held)
  }

  function lookAgain(): void {
    freeLost()
      .catch(onError)
      .finally(() => {
        for (const worker of workers.values()) worker.nudge()
      })
  }
}

/**
 * Tells workers everywhere to look at a queue now. Outside the transaction on purpose: a NOTIFY inside holds a lock of the
 * whole server while its commit reaches the disk, so no two would share a flush. A hint that comes before its commit is
 * lost; polling finds the wake-up.
 */
function openHints(db: Db): (queue: string) => void {
  const hinted = new Set<string>()
  return (queue) => {
    if (hinted.size === 0) setTimeout(send, HINT_MILLISECONDS)
    hinted.add(queue)
  }

  function send(): void {
    const names = [...hinted]
    hinted.clear()
    void sql`select pg_notify(${CHANNEL}, name) from unnest(${names}::text[]) as name`.execute(db).catch(() => {})
  }
}

/** Makes pg-boss's tables and our queues: part of `kinora migrate`. */
export async function installWakes(url: string, queues: readonly string[]): Promise<void> {
  const boss = newBoss(url, () => {})
  try {
    await boss.start()
    await ensureQueues(boss, queues)
  } finally {
    await boss.stop({ graceful: false })
  }
}

function newBoss(url: string, onError: (error: unknown) => void): PgBoss {
  const boss = new PgBoss({
    connectionString: url,
    application_name: 'kinora wakes',
    max: 5,
    schedule: false,
    superviseIntervalSeconds: 2,
    monitorIntervalSeconds: 2,
    maintenanceIntervalSeconds: 600,
    flowIntervalSeconds: 3600,
    queueCacheIntervalSeconds: 3600,
    warningQueueSize: 1_000_000,
  })
  boss.on('error', onError)
  boss.on('warning', ({ message }) => onError(new Error(`pg-boss: ${message}`)))
  return boss
}

async function ensureQueues(boss: PgBoss, queues: readonly string[]): Promise<void> {
  const settings = { ...RETRY, expireInSeconds: EXPIRE_SECONDS, heartbeatSeconds: HEARTBEAT_SECONDS }
  for (const queue of queues) {
    await boss.createQueue(queue, settings)
    await boss.updateQueue(queue, settings)
  }
}

/**
 * The rows that `boss.send` would insert, by a statement that costs PostgreSQL less than half (a test compares the rows).
 * Throws when the queue does not exist, so that no wake-up is lost in silence.
 */
async function insertWakes(tx: Db, queue: string, ids: readonly string[], afterSeconds: number): Promise<void> {
  const { numAffectedRows } = await sql`
    insert into pgboss.job (name, data, start_after, keep_until, retry_limit, retry_delay, retry_backoff, retry_delay_max,
                            expire_seconds, heartbeat_seconds, deletion_seconds, policy, created_on)
    select name, jsonb_build_object('id', id), due, due + make_interval(secs => retention_seconds), retry_limit, retry_delay,
           retry_backoff, retry_delay_max, expire_seconds, heartbeat_seconds, deletion_seconds, policy, now()
    from pgboss.queue, unnest(${ids as string[]}::text[]) as id,
         lateral (select now() + make_interval(secs => ${Math.max(afterSeconds, 0)}) as due) as at
    where name = ${queue}`.execute(tx)
  assert.equal(numAffectedRows, BigInt(ids.length), `there is no queue ${queue}`)
}

/** As `restoreJobs` in pg-boss's `src/plans.ts`, which has no public method. */
async function freeAllBut(db: Db, queues: readonly string[], held: string[]): Promise<void> {
  await sql`update pgboss.job set state = 'created', started_on = null, heartbeat_on = null
    where state = 'active' and name = any(${queues}::text[]) and id <> all(${held}::uuid[])`.execute(db)
}

async function handBackNow(db: Db, queue: string, jobs: Claim[]): Promise<void> {
  await sql`update pgboss.job set state = 'created', started_on = null, heartbeat_on = null
    from unnest(${jobs.map((each) => each.id)}::uuid[], ${jobs.map((each) => each.retryCount)}::int[]) as held (id, retry_count)
    where job.state = 'active' and job.name = ${queue} and job.id = held.id and job.retry_count = held.retry_count`.execute(
    db,
  )
}
