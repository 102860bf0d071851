import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { LEASE_SECONDS } from '../platform/claims.ts'
import { isDatabaseDown } from '../platform/db.ts'
import { cancelAtEngine } from './cancel.ts'
import { claimJob, releaseAllClaims, releaseClaim, renewClaims } from './claims.ts'
import { CANCEL_QUEUE, CANCEL_TOPIC, VIDEO_QUEUE } from './queues.ts'
import { cancelQuietly } from './render.ts'
import { runJob } from './run.ts'
import { servedModel } from './served-model.ts'
import type { VideoJobRow } from './store.ts'

/** A job that has to wait no longer than this stays with its worker; others are given back and woken by the queue. */
const HELD_SECONDS = 6

/** A job that was interrupted comes again after this long. */
const INTERRUPTED_SECONDS = 0.5

/** How long work in progress may take to come to a point where it can be handed back. */
const STOP_SECONDS = 20

type Held = { job: VideoJobRow; abort: AbortController; timer: NodeJS.Timeout | null }

export type Pipeline = { stop(): Promise<void> }

/**
 * Works on jobs as their wake-ups come. `sole` says that no other worker lives on this database: what a dead one held is taken over
 * at once instead of when its lease runs out.
 */
export async function startPipeline(ctx: Context, options: { sole: boolean }): Promise<Pipeline> {
  const worker = randomUUID()
  const held = new Map<string, Held>()
  const running = new Set<Promise<void>>()
  const stopping = new AbortController()
  let claims = 0

  /** Runs a claimed job; afterwards it has ended, waits here, or was given back. */
  const work = async (job: VideoJobRow): Promise<void> => {
    const abort = new AbortController()
    const entry: Held = { job, abort, timer: null }
    held.set(job.id, entry)
    try {
      const waiting = await runJob(ctx, job, AbortSignal.any([abort.signal, stopping.signal]))
      if (!waiting) held.delete(job.id)
      else await wait(entry, waiting.job, waiting.wait_seconds)
    } catch (error) {
      held.delete(job.id)
      // Dropped: it has ended, or another worker has it.
      if (abort.signal.aborted) return
      if (!stopping.signal.aborted)
        ctx.log[isDatabaseDown(error) ? 'warn' : 'error']('job_interrupted', { video_id: job.id, error })
      await insistOnHandBack(ctx, job, stopping.signal)
    }
  }

  const wait = async (entry: Held, job: VideoJobRow, seconds: number): Promise<void> => {
    entry.job = job
    if (seconds <= HELD_SECONDS && !stopping.signal.aborted) {
      entry.timer = setTimeout(() => track(work(job)), seconds * 1000)
      return
    }
    held.delete(job.id)
    await handBack(ctx, job, seconds)
  }

  const track = (promise: Promise<void>): Promise<void> => {
    running.add(promise)
    return promise.finally(() => running.delete(promise))
  }

  const renewal = setInterval(() => void renew(ctx, held), (LEASE_SECONDS * 1000) / 3)
  const stopHearing = ctx.changes.on(CANCEL_TOPIC, (id) => void letGo(ctx, held, id))
  await ctx.wakes.start()
  if (options.sole) await takeOver(ctx)
  await ctx.wakes.work(
    VIDEO_QUEUE,
    async (id) => {
      const job = await claimJob(ctx.db, id, `${worker}/${++claims}`)
      if (job) await track(work(job))
    },
    { concurrency: ctx.config.limits.pipeline_concurrency },
  )
  await ctx.wakes.work(CANCEL_QUEUE, (id) => cancelAtEngine(ctx, id), { concurrency: 4 })

  return {
    async stop() {
      stopping.abort(new Error('the service is stopping'))
      stopHearing()
      await ctx.wakes.stop()
      // What goes on beyond this is a start of unknown outcome, and is settled as one.
      await Promise.race([Promise.allSettled(running), sleep(STOP_SECONDS * 1000, undefined, { ref: false })])
      clearInterval(renewal)
      for (const { job, timer } of held.values()) {
        if (timer) clearTimeout(timer)
        await handBack(ctx, job, 0).catch(() => {})
      }
    },
  }
}

/** Gives a job back, to be worked on after `seconds` by whoever hears it first. */
async function handBack(ctx: Context, job: VideoJobRow, seconds: number): Promise<void> {
  await ctx.db.transaction().execute(async (tx) => {
    await releaseClaim(tx, job.claim_id!, job.id)
    await ctx.wakes.wake(tx, VIDEO_QUEUE, job.id, { after_seconds: seconds })
  })
}

/** Through an outage of the database, which is what interrupts jobs; a job that is dropped at last is found by the sweep. */
async function insistOnHandBack(ctx: Context, job: VideoJobRow, stopping: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return await handBack(ctx, job, stopping.aborted ? 0 : INTERRUPTED_SECONDS)
    } catch (error) {
      if (stopping.aborted) return
      ctx.log.warn('job_not_handed_back', { video_id: job.id, error })
      await sleep(INTERRUPTED_SECONDS * 1000, undefined, { signal: stopping }).catch(() => {})
    }
  }
}

/** Jobs a dead worker was holding have no wake-up of their own. */
async function takeOver(ctx: Context): Promise<void> {
  for (const id of await releaseAllClaims(ctx.db)) await ctx.wakes.wake(ctx.db, VIDEO_QUEUE, id)
}

/** Keeps our claims; a job whose claim was lost all the same is dropped here, another worker has it. */
async function renew(ctx: Context, held: Map<string, Held>): Promise<void> {
  const before = [...held.values()]
  const kept = await renewClaims(
    ctx.db,
    before.map(({ job }) => job.claim_id!),
  ).catch(() => null)
  if (!kept) return
  for (const entry of before) {
    if (kept.has(entry.job.claim_id!) || held.get(entry.job.id) !== entry) continue
    drop(held, entry)
  }
}

/** A job that was canceled elsewhere: its step ends, and its render, which only this process may be able to reach. */
async function letGo(ctx: Context, held: Map<string, Held>, id: string | null): Promise<void> {
  const entry = id === null ? undefined : held.get(id)
  if (!entry) return
  drop(held, entry)
  const served = servedModel(ctx, entry.job)
  if (served && entry.job.ticket !== null) await cancelQuietly(ctx, served.engine, entry.job)
}

function drop(held: Map<string, Held>, { job, abort, timer }: Held): void {
  if (timer) clearTimeout(timer)
  held.delete(job.id)
  abort.abort(new Error('the job is no longer ours'))
}
