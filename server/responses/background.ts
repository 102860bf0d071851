import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { LEASE_SECONDS } from '../platform/claims.ts'
import { isDatabaseDown } from '../platform/db.ts'
import { RESPONSE_CANCEL_TOPIC, RESPONSE_QUEUE } from './queues.ts'
import type { ResponseDeps } from './run.ts'
import { CANCELLED, type OpenRun, runQueued } from './run-queued.ts'
import { type ClaimedResponse, claimResponse, releaseAllClaims, releaseClaim, renewClaims } from './store-claims.ts'
import { ClaimLost } from './telling.ts'

/** A response that was interrupted comes again after this long. */
const INTERRUPTED_SECONDS = 0.5
/** How long runs under way may go on when the service stops; then they are handed back, and begin anew elsewhere. */
const STOP_SECONDS = 20

type Held = { claimed: ClaimedResponse; abort: AbortController }

export type BackgroundResponses = { stop(): Promise<void> }

/**
 * Runs background responses as their wake-ups come; `ctx.wakes` is started. `sole` says that no other worker lives on this database:
 * what a dead one held is taken over at once instead of when its lease runs out. `stop` lets runs go on for `stop_seconds`.
 */
export async function startResponses(
  ctx: Context,
  deps: ResponseDeps & { open: OpenRun },
  options: { sole: boolean; concurrency: number; stop_seconds?: number },
): Promise<BackgroundResponses> {
  const { sole, concurrency, stop_seconds = STOP_SECONDS } = options
  const worker = randomUUID()
  const held = new Map<string, Held>()
  const running = new Set<Promise<void>>()
  const stopping = new AbortController()
  let claims = 0

  const work = async (claimed: ClaimedResponse): Promise<void> => {
    const abort = new AbortController()
    held.set(claimed.id, { claimed, abort })
    try {
      await runQueued(ctx, deps, claimed, abort.signal)
    } catch (error) {
      if (error instanceof ClaimLost) return
      if (!stopping.signal.aborted) {
        const { request_id } = claimed
        ctx.log[isDatabaseDown(error) ? 'warn' : 'error']('response_interrupted', { request_id, error })
      }
      await insistOnHandBack(ctx, claimed, stopping.signal)
    } finally {
      held.delete(claimed.id)
    }
  }

  const renewal = setInterval(() => void renew(ctx, held), (LEASE_SECONDS * 1000) / 3)
  const stopHearing = ctx.changes.on(RESPONSE_CANCEL_TOPIC, (id) => {
    if (id !== null) held.get(id)?.abort.abort(CANCELLED)
  })
  if (sole) await takeOver(ctx)
  await ctx.wakes.work(
    RESPONSE_QUEUE,
    async (id) => {
      const claimed = await claimResponse(ctx.db, id, `${worker}/${++claims}`)
      if (!claimed) return
      const run = work(claimed)
      running.add(run)
      await run.finally(() => running.delete(run))
    },
    { concurrency },
  )

  return {
    /** Call it beside the end of the wake-ups, which waits for those being handled. */
    async stop() {
      const over = Promise.allSettled(running)
      await Promise.race([over, sleep(stop_seconds * 1000, undefined, { ref: false })])
      stopping.abort(new Error('the service is stopping'))
      for (const { abort } of held.values()) abort.abort(stopping.signal.reason)
      await Promise.allSettled(running)
      stopHearing()
      clearInterval(renewal)
    },
  }
}

/** Gives a response back, to be run anew by whoever hears it first. A stop of the service is no fault of the response. */
async function handBack(ctx: Context, claimed: ClaimedResponse, stopping: boolean): Promise<void> {
  const after_seconds = stopping ? 0 : INTERRUPTED_SECONDS
  await ctx.db.transaction().execute(async (tx) => {
    await releaseClaim(tx, claimed, { counts: !stopping, now: ctx.clock.now() })
    await ctx.wakes.wake(tx, RESPONSE_QUEUE, claimed.id, { after_seconds })
  })
}

/** Through an outage of the database, which is what interrupts runs; what is dropped at last is found by the sweep. */
async function insistOnHandBack(ctx: Context, claimed: ClaimedResponse, stopping: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return await handBack(ctx, claimed, stopping.aborted)
    } catch (error) {
      if (stopping.aborted) return
      ctx.log.warn('response_not_handed_back', { request_id: claimed.request_id, error })
      await sleep(INTERRUPTED_SECONDS * 1000, undefined, { signal: stopping }).catch(() => {})
    }
  }
}

/** What a dead worker was holding has no wake-up of its own. */
async function takeOver(ctx: Context): Promise<void> {
  const freed = await releaseAllClaims(ctx.db)
  if (freed.length > 0) await ctx.wakes.wake(ctx.db, RESPONSE_QUEUE, freed)
}

/** Keeps our claims; a run whose claim was lost all the same is ended here, another worker has it. */
async function renew(ctx: Context, held: Map<string, Held>): Promise<void> {
  const before = [...held.values()]
  const kept = await renewClaims(
    ctx.db,
    before.map(({ claimed }) => claimed.claim_id),
  ).catch(() => null)
  if (!kept) return
  for (const { claimed, abort } of before) {
    if (!kept.has(claimed.claim_id)) abort.abort(new ClaimLost('another worker has this response'))
  }
}
