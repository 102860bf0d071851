import { setTimeout as sleep } from 'node:timers/promises'
import type { Job, PgBoss } from 'pg-boss'

/** Handles one wake-up. The row it names is the truth: it may be handled twice, also at the same time. */
export type WakeHandler = (id: string, signal: AbortSignal) => Promise<void>

export type WorkerOptions = {
  queue: string
  concurrency: number
  polling_seconds: number
  handler: WakeHandler
  on_error: (error: unknown, queue: string) => void
  /** Makes claimed wake-ups ready for anybody at once. */
  hand_back: (jobs: Claim[]) => Promise<void>
}

export type Worker = { nudge(): void; held(): string[]; stop(options: { drain_seconds: number }): Promise<void> }

export type Claim = Job<{ id: string }>

/** Claims are renewed this often; a worker silent for HEARTBEAT_SECONDS (jobs.ts) is taken for dead. */
const RENEW_SECONDS = 3

/** Most wake-ups claimed by one statement. */
const BATCH_MAX = 100

/** How long a handler gets to return once its signal is aborted. */
const ABORT_SECONDS = 2

type State = WorkerOptions & {
  boss: PgBoss
  running: Map<Claim, { controller: AbortController; over: Promise<void> }>
  stopped: AbortController
  /** Ended well, to be forgotten by the next statement. */
  handled: Claim[]
  forgetting: Promise<void> | null
  nudged: PromiseWithResolvers<void>
}

/**
 * Keeps up to `concurrency` handlers of one queue running. pg-boss's own `work()` waits for the slowest of a batch, or
 * polls once a slot; here one statement claims for all free slots and one forgets all that ended meanwhile.
 */
export function startWorker(boss: PgBoss, options: WorkerOptions): Worker {
  const state: State = {
    ...options,
    boss,
    running: new Map(),
    stopped: new AbortController(),
    handled: [],
    forgetting: null,
    nudged: Promise.withResolvers<void>(),
  }
  const loops = Promise.all([claimLoop(state), renewLoop(state)])
  return {
    nudge: () => state.nudged.resolve(),
    held: () => [...state.running.keys(), ...state.handled].map((job) => job.id),
    async stop({ drain_seconds }) {
      state.stopped.abort()
      state.nudged.resolve()
      await loops
      await stopHandlers(state, drain_seconds)
    },
  }
}

async function claimLoop(state: State): Promise<void> {
  while (!state.stopped.signal.aborted) {
    state.nudged = Promise.withResolvers<void>()
    const wanted = Math.min(state.concurrency - state.running.size, BATCH_MAX)
    const claims = wanted > 0 ? await claim(state, wanted) : []
    for (const each of claims) run(state, each)
    // A nudge comes with a hint, with a free slot after a full house, and with the end.
    if (wanted === 0 || claims.length < wanted) await atMost(state.polling_seconds, state.nudged.promise)
  }
}

async function claim({ boss, queue, on_error }: State, batchSize: number): Promise<Claim[]> {
  try {
    return await boss.fetch<{ id: string }>(queue, { batchSize })
  } catch (error) {
    on_error(error, queue)
    return []
  }
}

function run(state: State, job: Claim): void {
  const controller = new AbortController()
  const over = handle(state, job, controller.signal).finally(() => {
    const full = state.running.size === state.concurrency
    state.running.delete(job)
    if (full) state.nudged.resolve()
  })
  state.running.set(job, { controller, over })
}

async function handle(state: State, job: Claim, signal: AbortSignal): Promise<void> {
  const { boss, queue, on_error } = state
  const report = (error: unknown) => on_error(error, queue)
  try {
    await state.handler(job.data.id, signal)
    state.handled.push(job)
    state.forgetting ??= forget(state)
  } catch (error) {
    if (state.stopped.signal.aborted) return state.hand_back([job]).catch(report)
    report(error)
    // Without the error: pg-boss would store it, and it may quote a prompt.
    await insist(state, () => boss.fail(queue, job))
  }
}

/** All that ended while the last statement ran go in the next. */
async function forget(state: State): Promise<void> {
  while (state.handled.length > 0) {
    const batch = state.handled
    state.handled = []
    await insist(state, () => state.boss.deleteJob(state.queue, batch))
  }
  state.forgetting = null
}

/** Until it succeeds or the worker stops: a short outage of the database must not cost the length of a heartbeat. */
async function insist(state: State, action: () => Promise<unknown>): Promise<void> {
  while (!(await succeeds(state, action)) && !state.stopped.signal.aborted) {
    await sleep(state.polling_seconds * 1000, undefined, { signal: state.stopped.signal }).catch(() => {})
  }
}

async function succeeds({ queue, on_error }: State, action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action()
    return true
  } catch (error) {
    on_error(error, queue)
    return false
  }
}

async function renewLoop(state: State): Promise<void> {
  while (!state.stopped.signal.aborted) {
    await sleep(RENEW_SECONDS * 1000, undefined, { signal: state.stopped.signal }).catch(() => {})
    await renew(state).catch((error: unknown) => state.on_error(error, state.queue))
  }
}

async function renew({ boss, queue, running }: State): Promise<void> {
  const claims = [...running.keys()]
  if (claims.length === 0) return
  // pg-boss returns the ids that are still held, but does not type them.
  const { settled } = (await boss.touch(queue, claims)) as { settled?: string[] }
  const held = new Set(settled ?? claims.map((each) => each.id))
  for (const each of claims) {
    if (!held.has(each.id)) running.get(each)?.controller.abort(new Error('another worker has this wake-up now'))
  }
}

async function stopHandlers(state: State, drainSeconds: number): Promise<void> {
  const { running, queue, on_error } = state
  await atMost(drainSeconds, allOver(state))
  for (const { controller } of running.values()) controller.abort(new Error('the service is stopping'))
  await atMost(ABORT_SECONDS, allOver(state))
  await state.forgetting
  if (running.size > 0) await state.hand_back([...running.keys()]).catch((error: unknown) => on_error(error, queue))
}

function allOver({ running }: State): Promise<unknown> {
  return Promise.all([...running.values()].map((each) => each.over))
}

async function atMost(seconds: number, promise: Promise<unknown>): Promise<void> {
  const timer = new AbortController()
  const late = sleep(seconds * 1000, undefined, { signal: timer.signal }).catch(() => {})
  await Promise.race([promise, late])
  timer.abort()
}
