import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { addSeconds, type Clock } from '../clock.ts'
import type { Changes } from '../db/changes.ts'
import { answered, type Db } from '../db/db.ts'
import { type Claimed, type Claims, LEASE_SECONDS } from './claims.ts'

/** Queues that have become ready are announced on this topic by name, after the commit. A hint that is lost costs one poll. */
export const QUEUE_TOPIC = 'queue'
/** Queues in which rows were freed that may have been due for long, announced by name. */
export const RECLAIMED_TOPIC = 'queue_reclaimed'

export type WorkerOptions<Row extends Claimed> = {
  db: Db
  clock: Clock
  changes: Changes
  /** As announced on `QUEUE_TOPIC`. */
  queue: string
  claims: Claims<Row>
  /** Rows worked on at a time, from their claim to their first wait; what goes on afterwards does not count. */
  concurrency: number
  /**
   * Works on one row under its claim. Returns the row as it now is with the seconds it waits in this worker's hands, or null when
   * nothing is left to do or the row was released. What it throws releases the row, to be claimed again soon.
   */
  run(row: Row, signal: AbortSignal): Promise<{ row: Row; wait_seconds: number } | null>
  /** Releases rows before their work is done; `stopping`: because the process ends, else because of a fault. Default: the claims' own. */
  release?(rows: readonly Row[], why: { stopping: boolean; not_before: Date }): Promise<void>
  /** Set where no other worker can be alive on this database: what a dead one held is freed at once. */
  sole: boolean
  /** The backstop behind hints. */
  polling_seconds?: number
  /** How long `stop` lets work go on before it aborts it, and how long it then waits for it to return. */
  stop_seconds: { finish: number; abort: number }
  /** Hears of what `run` threw, and of trouble with the database where there is no row. */
  on_error(error: unknown, row: Row | null): void
}

export type Worker<Row> = {
  /** Ends the work on a row that is no longer this worker's to do. Returns it as it was, null when this worker does not have it. */
  drop(id: string): Row | null
  /** Aborts the signal of a row's work, which decides what becomes of the row. */
  abort(id: string, reason: Error): void
  stop(): Promise<void>
}

/** Most rows claimed by one statement. */
const BATCH_MAX = 100
/** With more than this part of the slots taken, a claim waits for a moment, so that it claims for several slots. */
const GATHER_ABOVE = 0.75
const GATHER_SECONDS = 0.005
/** A row that was released after a fault is due again no sooner than this. */
const FAULT_SECONDS = 0.5
/**
 * A claim looks at rows that became due since the last one, and this much before, for what was committed late. Rows that were due earlier,
 * of a release elsewhere or of a clock that lags, are found by a look at everything, once in `FULL_SCAN_SECONDS`. Without this bound each
 * claim would read the index entries of all rows that have ended since the oldest snapshot was taken: vacuum cannot remove those.
 */
const OVERLAP_SECONDS = 2
const FULL_SCAN_SECONDS = 5

type Held<Row> = { row: Row; abort: AbortController; timer: NodeJS.Timeout | null }

type State<Row extends Claimed> = WorkerOptions<Row> & {
  held: Map<string, Held<Row>>
  /** Slots taken: rows that were claimed and have not come to their first wait. */
  slots: number
  /** Work under way, that of dropped rows too. */
  running: Set<Promise<void>>
  /** Whether rows may be under claims that nobody holds. */
  orphans: boolean
  /** Rows due before this were claimed already; null: everything is to be looked at. */
  due_from: Date | null
  /** When everything was looked at last, in milliseconds of `performance.now()`. */
  scanned_at: number
  /** Whether the last claim took as many as it could, so that there may be more. */
  more: boolean
  stopping: AbortController
  /** Aborts when no work is under way any more, after `stopping`. */
  over: AbortController
  /** Resolves when there may be something to claim. */
  hinted: PromiseWithResolvers<void>
}

/**
 * Claims rows as they become due and works on them, `concurrency` of those just claimed at a time, under leases it renews, until `stop`.
 * One statement claims for all slots that are free. A row that waits for a moment stays in hand.
 */
export function startWorker<Row extends Claimed>(options: WorkerOptions<Row>): Worker<Row> {
  const state: State<Row> = {
    ...options,
    ...{
      held: new Map(),
      slots: 0,
      running: new Set(),
      orphans: true,
      due_from: null,
      scanned_at: 0,
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
    state.due_from = null
    state.hinted.resolve()
  })
  const claiming = claimLoop(state)
  const renewing = renewLoop(state)
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
  const worker = randomUUID()
  for (let n = 1; !signal.aborted; n++) {
    state.hinted = Promise.withResolvers()
    // Between two claims: a row whose claim is on its way here looks like an orphan.
    if (state.orphans) await reclaimOrphans(state)
    const limit = Math.min(Math.max(0, state.concurrency - state.slots), BATCH_MAX)
    const rows = limit > 0 ? await claim(state, `${worker}/${n}`, limit) : []
    for (const row of rows) begin(state, hold(state, row), { slot: true })
    state.more = rows.length === limit
    if (limit === 0 || !state.more) await atMost(state.polling_seconds ?? 1, state.hinted.promise)
    if (state.slots > state.concurrency * GATHER_ABOVE) await pause(state, GATHER_SECONDS)
  }
}

async function claim<Row extends Claimed>(state: State<Row>, claim_id: string, limit: number): Promise<Row[]> {
  const now = state.clock.now()
  if (performance.now() - state.scanned_at >= FULL_SCAN_SECONDS * 1000) state.due_from = null
  const { due_from } = state
  if (!due_from) state.scanned_at = performance.now()
  // Changed by a reclaim that is announced meanwhile, and by a failure, to null.
  state.due_from = now
  try {
    // An answer that comes later is of no use: the leases are over.
    const rows = await answered(state.claims.claim(state.db, { claim_id, now, limit, due_from }), LEASE_SECONDS)
    if (state.due_from) state.due_from = addSeconds(rows.length < limit ? now : lastDue(state, rows), -OVERLAP_SECONDS)
    return rows
  } catch (error) {
    state.due_from = null
    state.on_error(error, null)
    await pause(state, FAULT_SECONDS)
    return []
  }
}

function lastDue<Row extends Claimed>({ claims }: State<Row>, rows: readonly Row[]): Date {
  return new Date(Math.max(...rows.map((row) => claims.dueOf(row).getTime())))
}

function hold<Row extends Claimed>(state: State<Row>, row: Row): Held<Row> {
  const entry = { row, abort: new AbortController(), timer: null }
  state.held.set(row.id, entry)
  return entry
}

/** Works on a row, in a slot when it was just claimed: what goes on with a row in hand must not wait behind rows that are stuck. */
function begin<Row extends Claimed>(state: State<Row>, entry: Held<Row>, { slot }: { slot: boolean }): void {
  if (slot) state.slots += 1
  const working = work(state, entry).finally(() => {
    state.running.delete(working)
    if (!slot) return
    state.slots -= 1
    if (state.more) state.hinted.resolve()
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
    // Dropped: it has ended, or another worker has it.
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

/** Through an outage of the database, which is what interrupts work; what cannot be released at last is found when its lease ends. */
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
}

/** Through a stop too, while work goes on: it may take longer than a lease. */
async function renewLoop<Row extends Claimed>(state: State<Row>): Promise<void> {
  const { signal } = state.over
  for (;;) {
    await sleep((LEASE_SECONDS * 1000) / 4, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    // Not awaited: one that is never answered must not cost all leases.
    void renew(state).catch((error: unknown) => state.on_error(error, null))
  }
}

/** Keeps the claims of this worker; a row whose claim was lost all the same is dropped here, another worker has it. */
async function renew<Row extends Claimed>(state: State<Row>): Promise<void> {
  const before = [...state.held.values()]
  const lost = await state.claims.renew(
    state.db,
    before.map(({ row }) => row),
  )
  for (const entry of before) {
    if (lost.has(entry.row.id) && state.held.get(entry.row.id) === entry) drop(state, entry.row.id)
  }
}

/** Claims of a worker that was killed, and those whose statement succeeded while its answer was lost. */
async function reclaimOrphans<Row extends Claimed>(state: State<Row>): Promise<void> {
  state.orphans = false
  state.due_from = null
  if (!state.sole) return
  try {
    const held = [...state.held.values()].map(({ row }) => row)
    await answered(state.claims.releaseAllBut(state.db, held), LEASE_SECONDS)
  } catch (error) {
    state.on_error(error, null)
  }
}

function drop<Row extends Claimed>(state: State<Row>, id: string): Row | null {
  const entry = state.held.get(id)
  if (!entry) return null
  forget(state, entry)
  entry.abort.abort(new Error('another worker has this row, or it has ended'))
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
  await atMost(stop_seconds.finish, over())
  for (const { abort } of held.values()) abort.abort(state.stopping.signal.reason)
  await atMost(stop_seconds.abort, over())
  const left = [...held.values()]
  for (const entry of left) forget(state, entry)
  if (left.length > 0)
    await release(
      state,
      left.map(({ row }) => row),
    ).catch((error: unknown) => state.on_error(error, null))
}

function pause<Row extends Claimed>(state: State<Row>, seconds: number): Promise<unknown> {
  return sleep(seconds * 1000, undefined, { signal: state.stopping.signal }).catch(() => {})
}

async function atMost(seconds: number, promise: Promise<unknown>): Promise<void> {
  const timer = new AbortController()
  const late = sleep(seconds * 1000, undefined, { signal: timer.signal }).catch(() => {})
  await Promise.race([promise, late])
  timer.abort()
}
