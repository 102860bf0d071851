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

export type Worker = { nudge(): void; stop(options: { drain_seconds: number }): Promise<void> }

export type Claim = Job<{ id: string }>

/** Claims are renewed this often; a worker silent for HEARTBEAT_SECONDS (jobs.ts) is taken for dead. */
const RENEW_SECONDS = 3

/** Most wake-ups claimed by one statement. */
const BATCH_MAX = 100

/** How long a handler gets to return once its signal is aborted. */
const ABORT_SECONDS = 2

/**
 * Keeps up to `concurrency` handlers of one queue running. pg-boss's own `work()` waits for the slowest of a batch, or
 * polls once a slot; here one statement claims for all free slots and one forgets all that ended meanwhile.
 */
export function startWorker(boss: PgBoss, options: WorkerOptions): Worker {
  const { queue, concurrency, polling_seconds, handler, on_error, hand_back } = options
  const running = new Map<Claim, { controller: AbortController; over: Promise<void> }>()
  const stopped = new AbortController()
  let handled: Claim[] = []
  let forgetting: Promise<void> | null = null
  let nudged = newNudge()

  const claiming = claimLoop()
  const renewing = renewLoop()
  return {
    nudge: () => nudged.resolve(),
    async stop({ drain_seconds }) {
      stopped.abort()
      nudged.resolve()
      await Promise.all([claiming, renewing])
      await settle(drain_seconds)
      for (const { controller } of running.values()) controller.abort(new Error('the service is stopping'))
      await settle(ABORT_SECONDS)
      await forgetting
      if (running.size > 0) await hand_back([...running.keys()]).catch((error: unknown) => on_error(error, queue))
    },
  }

  async function claimLoop(): Promise<void> {
    while (!stopped.signal.aborted) {
      nudged = newNudge()
      const wanted = Math.min(concurrency - running.size, BATCH_MAX)
      const claims = wanted > 0 ? await claim(wanted) : []
      for (const each of claims) run(each)
      if (wanted === 0 || claims.length < wanted) await untilWorthALook()
    }
  }

  async function claim(batchSize: number): Promise<Claim[]> {
    try {
      return await boss.fetch<{ id: string }>(queue, { batchSize })
    } catch (error) {
      on_error(error, queue)
      return []
    }
  }

  /** A hint, a free slot after a full house, or the backstop's turn. */
  async function untilWorthALook(): Promise<void> {
    const timer = new AbortController()
    const turn = sleep(polling_seconds * 1000, undefined, { signal: timer.signal }).catch(() => {})
    await Promise.race([turn, nudged.promise])
    timer.abort()
  }

  function run(job: Claim): void {
    const controller = new AbortController()
    const over = handle(job, controller.signal).finally(() => {
      const full = running.size === concurrency
      running.delete(job)
      if (full) nudged.resolve()
    })
    running.set(job, { controller, over })
  }

  async function handle(job: Claim, signal: AbortSignal): Promise<void> {
    try {
      await handler(job.data.id, signal)
      handled.push(job)
      forgetting ??= forget()
    } catch (error) {
      if (stopped.signal.aborted) await hand_back([job]).catch((failure: unknown) => on_error(failure, queue))
      else await retryLater(job, error)
    }
  }

  async function retryLater(job: Claim, error: unknown): Promise<void> {
    on_error(error, queue)
    await boss.fail(queue, job).catch((failure: unknown) => on_error(failure, queue))
  }

  /** All that ended while the last statement ran go in the next. One that fails is handled again when its claim lapses. */
  async function forget(): Promise<void> {
    while (handled.length > 0) {
      const batch = handled
      handled = []
      await boss.deleteJob(queue, batch).catch((error: unknown) => on_error(error, queue))
    }
    forgetting = null
  }

  async function renewLoop(): Promise<void> {
    while (!stopped.signal.aborted) {
      await sleep(RENEW_SECONDS * 1000, undefined, { signal: stopped.signal }).catch(() => {})
      await renew().catch((error: unknown) => on_error(error, queue))
    }
  }

  async function renew(): Promise<void> {
    const claims = [...running.keys()]
    if (claims.length === 0) return
    const { settled } = (await boss.touch(queue, claims)) as { settled?: string[] }
    const held = new Set(settled ?? claims.map((each) => each.id))
    for (const each of claims) {
      if (!held.has(each.id)) running.get(each)?.controller.abort(new Error('another worker has this wake-up now'))
    }
  }

  async function settle(seconds: number): Promise<void> {
    const timer = new AbortController()
    const late = sleep(seconds * 1000, undefined, { signal: timer.signal }).catch(() => {})
    const all = Promise.all([...running.values()].map((each) => each.over))
    await Promise.race([all, late])
    timer.abort()
  }
}

function newNudge(): PromiseWithResolvers<void> {
  return Promise.withResolvers<void>()
}
