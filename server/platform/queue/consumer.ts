import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RawBuilder } from 'kysely'
import { addSeconds, type Clock } from '../clock.ts'
import type { Changes } from '../db/changes.ts'
import { answered, type Db } from '../db/db.ts'
import { withTimeout } from '../timeout.ts'
import { type Claimed, type Claims, LEASE_SECONDS } from './claims.ts'
import { type DueWindow, openDueWindow } from './due-window.ts'
import { keepLeases, type Leased, leaseEnd } from './leases.ts'

/** Queues with new due rows are announced on this topic by name, after the commit. A lost announcement costs one poll interval. */
export const QUEUE_TOPIC = 'queue'
/** Queues in which rows were released that may have been due for a long time, announced by name. */
export const RECLAIMED_TOPIC = 'queue_reclaimed'

export type ConsumerOptions<Row extends Claimed> = {
  db: Db
  clock: Clock
  changes: Changes
  /** As announced on `QUEUE_TOPIC`. */
  queue: string
  claims: Claims<Row>
  /** Which rows this process can work on, at a given time; others are left to other processes. Default: all. */
  only?: (now: Date) => RawBuilder<unknown>
  /** Rows worked on at a time, from their claim to their first wait. Work that goes on after the wait does not count. */
  concurrency: number
  /**
   * Works on one row under its claim. Returns the row as it now is and the seconds this consumer keeps it waiting, or null when the work
   * is done or the row was released. When it throws, the row is released, to be claimed again soon.
   */
  run(row: Row, signal: AbortSignal): Promise<{ row: Row; wait_seconds: number } | null>
  /** Releases rows whose work is not done; `stopping`: because the process ends, else because of an error. Default: `claims.release`. */
  release?(rows: readonly Row[], why: { stopping: boolean; not_before: Date }): Promise<void>
  /** Begins the ids of its claims, so that others can release them once the process is gone. Default: one of its own. */
  consumer_id?: string | undefined
  /** No other consumer can be alive on this database: rows that a dead one held are released at once. */
  sole: boolean
  /** How often to look for due rows without an announcement. Default: 2. */
  polling_seconds?: number
  /** How long `stop` lets work go on before it aborts it, and how long it then waits for it to return. */
  stop_seconds: { finish: number; abort: number }
  /** Gets what `run` threw, and with a null row the errors of the queue's own statements. */
  on_error(error: unknown, row: Row | null): void
}

export type JobConsumer<Row> = {
  /** Aborts the work on a row without releasing it. Returns the row as last known; null when this consumer does not hold it. */
  drop(id: string): Row | null
  /** Aborts the signal of a row's work, which then decides what happens to the row. */
  abort(id: string, reason: Error): void
  stop(): Promise<void>
}

/** Most rows claimed by one statement. */
const BATCH_MAX = 100
/** With more than this share of the slots taken, a claim waits for more of them to come free. */
const GATHER_ABOVE = 0.75
const GATHER_SECONDS = 0.005
/** Why work on a row was aborted that this consumer no longer holds. */
export const DROPPED = new Error('this row has ended, or another worker may have it')
/** Work is announced: by itself becomes due only what is to be tried later, and what was announced while the connection was down. */
const POLLING_SECONDS = 2
/** A row that was released after an error is due again no sooner than this. */
const FAULT_SECONDS = 0.5
type Held<Row extends Claimed> = Leased<Row> & { abort: AbortController; timer: NodeJS.Timeout | null }

type State<Row extends Claimed> = ConsumerOptions<Row> & {
  held: Map<string, Held<Row>>
  /** Slots taken: rows that were claimed and have not reached their first wait. */
  slots: number
  /** Work under way, including that of dropped rows. */
  running: Set<Promise<void>>
  /** Whether rows may be under claims that no live consumer holds. */
  orphans: boolean
  window: DueWindow
  /** Whether the last claim took as many as it could, so that there may be more. */
  more: boolean
  stopping: AbortController
  /** Aborts once no work is under way any more, after `stopping`. */
  over: AbortController
  /** Resolves when there may be something to claim. */
  hinted: PromiseWithResolvers<void>
}

/**
 * Claims rows as they become due and works on them under leases it renews, until `stop`. At most `concurrency` rows are between their
 * claim and their first wait; one statement claims for all free slots. A waiting row stays with this consumer.
 */
export function startConsumer<Row extends Claimed>(options: ConsumerOptions<Row>): JobConsumer<Row> {
  const state: State<Row> = {
    ...options,
    ...{
      held: new Map(),
      slots: 0,
      running: new Set(),
      orphans: true,
      window: openDueWindow(),
      more: true,
      stopping: new AbortController(),
      over: new AbortController(),
      hinted: Promise.withResolvers(),
    },
  }
  const stopListening = options.changes.on(QUEUE_TOPIC, (queue) => {
    if (queue === null) state.orphans = true
    if (queue === null || queue === options.queue) state.hinted.resolve()
  })
  const stopListeningToReclaims = options.changes.on(RECLAIMED_TOPIC, (queue) => {
    if (queue !== null && queue !== options.queue) return
    state.window.reset()
    state.hinted.resolve()
  })
  const claiming = claimLoop(state)
  // Also while the consumer stops: work under way may take longer than a lease.
  const renewing = keepLeases({
    db: state.db,
    claims: state.claims,
    signal: state.over.signal,
    held: () => [...state.held.values()],
    on_lost: ({ id, claim_id }) => {
      if (state.held.get(id)?.row.claim_id === claim_id) drop(state, id)
    },
    on_error: (error) => state.on_error(error, null),
  })
  return {
    drop: (id) => drop(state, id),
    abort: (id, reason) => state.held.get(id)?.abort.abort(reason),
    async stop() {
      stopListening()
      stopListeningToReclaims()
      state.stopping.abort(new Error('the service is stopping'))
      state.hinted.resolve()
      await claiming
      await finish(state)
      state.over.abort()
      await renewing
    },
  }
}

async function claimLoop<Row extends Claimed>(state: State<Row>): Promise<void> {
  const { signal } = state.stopping
  // Claims of two queues may be on one table.
  const worker = `${state.consumer_id ?? randomUUID()}/${state.queue}`
  for (let n = 1; !signal.aborted; n++) {
    state.hinted = Promise.withResolvers()
    // Between two claims: a row whose claim is still in flight looks like an orphan.
    if (state.orphans) await reclaimOrphans(state)
    const limit = Math.min(Math.max(0, state.concurrency - state.slots), BATCH_MAX)
    const sent = performance.now()
    const rows = limit > 0 ? await claim(state, `${worker}/${n}`, limit) : []
    for (const row of rows) begin(state, hold(state, row, leaseEnd(sent)), { slot: true })
    state.more = rows.length === limit
    if (limit === 0 || !state.more)
      await withTimeout((state.polling_seconds ?? POLLING_SECONDS) * 1000, state.hinted.promise, () => {})
    if (state.slots > state.concurrency * GATHER_ABOVE) await pause(state, GATHER_SECONDS)
  }
}

async function claim<Row extends Claimed>(state: State<Row>, claim_id: string, limit: number): Promise<Row[]> {
  const now = state.clock.now()
  const due_from = state.window.begin()
  try {
    // A later answer is useless: the leases have expired.
    const rows = await answered(
      state.claims.claim(state.db, { claim_id, now, limit, due_from, only: state.only?.(now) }),
      LEASE_SECONDS,
    )
    state.window.succeeded(rows.length < limit ? now : lastDue(state, rows))
    return rows
  } catch (error) {
    state.window.failed()
    state.on_error(error, null)
    await pause(state, FAULT_SECONDS)
    return []
  }
}

function lastDue<Row extends Claimed>({ claims }: State<Row>, rows: readonly Row[]): Date {
  return new Date(Math.max(...rows.map((row) => claims.dueOf(row).getTime())))
}

function hold<Row extends Claimed>(state: State<Row>, row: Row, leased_until: number): Held<Row> {
  const entry = { row, leased_until, abort: new AbortController(), timer: null }
  state.held.set(row.id, entry)
  return entry
}

/** Works on a row. Only a row that was just claimed takes a slot: one that has waited must not queue behind rows that are stuck. */
function begin<Row extends Claimed>(state: State<Row>, entry: Held<Row>, { slot }: { slot: boolean }): void {
  const { row } = entry
  const { under_way } = state.claims
  if (slot) {
    state.slots += 1
    under_way?.begin(row)
  }
  const working = work(state, entry).finally(() => {
    state.running.delete(working)
    if (!slot) return
    state.slots -= 1
    if (under_way?.end(row) || state.more) state.hinted.resolve()
  })
  state.running.add(working)
}

async function work<Row extends Claimed>(state: State<Row>, entry: Held<Row>): Promise<void> {
  const { held, stopping } = state
  if (held.get(entry.row.id) !== entry) return
  try {
    const waiting = await state.run(entry.row, entry.abort.signal)
    if (held.get(entry.row.id) !== entry) return
    if (!waiting) return forget(state, entry)
    entry.row = waiting.row
    if (!stopping.signal.aborted) entry.timer = setTimeout(() => resume(state, entry), waiting.wait_seconds * 1000)
  } catch (error) {
    // Dropped: it has ended, or another consumer has it.
    if (held.get(entry.row.id) !== entry) return
    if (!stopping.signal.aborted) state.on_error(error, entry.row)
    await releaseUntilWritten(state, entry)
    forget(state, entry)
  }
}

function resume<Row extends Claimed>(state: State<Row>, entry: Held<Row>): void {
  entry.timer = null
  if (state.held.get(entry.row.id) === entry && !state.stopping.signal.aborted) begin(state, entry, { slot: false })
}

/** Retries through an outage of the database, which is what interrupts work. A row that is never released is reclaimed when its lease ends. */
async function releaseUntilWritten<Row extends Claimed>(state: State<Row>, { row }: Held<Row>): Promise<void> {
  for (;;) {
    try {
      return await release(state, [row])
    } catch (error) {
      if (state.stopping.signal.aborted) return
      state.on_error(error, null)
      await pause(state, FAULT_SECONDS)
    }
  }
}

async function release<Row extends Claimed>(state: State<Row>, rows: readonly Row[]): Promise<void> {
  const stopping = state.stopping.signal.aborted
  const not_before = addSeconds(state.clock.now(), stopping ? 0 : FAULT_SECONDS)
  const released = state.release
    ? state.release(rows, { stopping, not_before })
    : state.claims.release(state.db, rows, stopping ? {} : { not_before })
  await answered(released, LEASE_SECONDS)
  // They may have been due for long, and other processes look at what became due lately.
  if (stopping) state.changes.announce(RECLAIMED_TOPIC, state.queue)
}

/** Releases the rows of a consumer that was killed, and rows whose claim succeeded while its answer was lost. */
async function reclaimOrphans<Row extends Claimed>(state: State<Row>): Promise<void> {
  state.orphans = false
  state.window.reset()
  if (!state.sole) return
  try {
    await answered(state.claims.releaseAllBut(state.db, rowsOf(state)), LEASE_SECONDS)
  } catch (error) {
    state.on_error(error, null)
  }
}

function drop<Row extends Claimed>(state: State<Row>, id: string): Row | null {
  const entry = state.held.get(id)
  if (!entry) return null
  forget(state, entry)
  entry.abort.abort(DROPPED)
  return entry.row
}

function forget<Row extends Claimed>(state: State<Row>, entry: Held<Row>): void {
  if (entry.timer) clearTimeout(entry.timer)
  entry.timer = null
  if (state.held.get(entry.row.id) === entry) state.held.delete(entry.row.id)
}

async function finish<Row extends Claimed>(state: State<Row>): Promise<void> {
  const { held, stop_seconds } = state
  const over = () => Promise.all(state.running)
  await withTimeout(stop_seconds.finish * 1000, over(), () => {})
  for (const { abort } of held.values()) abort.abort(state.stopping.signal.reason)
  await withTimeout(stop_seconds.abort * 1000, over(), () => {})
  const left = rowsOf(state)
  for (const entry of [...held.values()]) forget(state, entry)
  if (left.length > 0) await release(state, left).catch((error: unknown) => state.on_error(error, null))
}

function rowsOf<Row extends Claimed>({ held }: State<Row>): Row[] {
  return [...held.values()].map(({ row }) => row)
}

function pause<Row extends Claimed>(state: State<Row>, seconds: number): Promise<unknown> {
  return sleep(seconds * 1000, undefined, { signal: state.stopping.signal }).catch(() => {})
}
