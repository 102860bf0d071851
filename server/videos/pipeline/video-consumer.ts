import type { Context, LiveContext } from '../../context.ts'
import { addSeconds } from '../../platform/clock.ts'
import { isDatabaseDown } from '../../platform/db/db.ts'
import { startConsumer } from '../../platform/queue/consumer.ts'
import { takingTurnsAs } from '../../platform/turns.ts'
import { CANCEL_QUEUE, CANCEL_TOPIC, VIDEO_QUEUE } from '../queues.ts'
import { cancelQuietly } from '../render/follow.ts'
import { servedModel } from '../render/served-model.ts'
import { cancelAtEngine, REPEAT_SECONDS } from './cancel.ts'
import { askedToStop, cancelClaims, servedCancels, servedJobs, videoClaims } from './claims.ts'
import { describeFault } from './retry.ts'
import { type Faults, runJob, type StepRun } from './step.ts'
import type { Job } from './store.ts'

/** A job that waits no longer than this stays with its consumer; others are released, and claimed again when they are due. */
const HELD_SECONDS = 6

/** How long a stop waits for work to reach a point where it can be released. A start that takes longer has an unknown outcome. */
const STOP_SECONDS = { finish: 0, abort: 20 }

/** Renders stopped at their engines at a time. */
const CANCELS = 4
/** Longest pause between two requests to an engine to stop a render. */
const CANCEL_PAUSE_SECONDS_MAX = 300

export type Pipeline = { stop(): Promise<void> }

type PipelineOptions = {
  /** No other consumer can be alive on this database. */
  sole: boolean
  consumer_id?: string | undefined
  on_completed: (job: Job) => void
}

/** Works on video jobs as they become due. */
export function startPipeline(ctx: LiveContext, { sole, consumer_id, on_completed }: PipelineOptions): Pipeline {
  const { db, clock, changes, config } = ctx
  const shared = { db, clock, changes, sole, consumer_id, stop_seconds: STOP_SECONDS }
  const faults: Faults = new Map()
  const jobs = startConsumer<Job>({
    ...shared,
    queue: VIDEO_QUEUE,
    claims: videoClaims,
    concurrency: config.limits.pipeline_concurrency,
    only: (now) => servedJobs(ctx, now),
    run: (job, signal) => withUse(ctx, job, (now) => work(now, job, { signal, faults, on_completed })),
    on_error: (error, job) => logFault(ctx, error, job),
  })
  const cancels = startConsumer<Job>({
    ...shared,
    queue: CANCEL_QUEUE,
    claims: cancelClaims,
    concurrency: CANCELS,
    only: (now) => servedCancels(ctx, { now, given_up_before: addSeconds(now, -REPEAT_SECONDS) }),
    run: (job) => withUse(ctx, job, (now) => stopRender(now, job)),
    on_error: (error, job) => logFault(ctx, error, job),
  })
  // A job canceled while its start was in flight: only this process may know its ticket.
  const stopListening = changes.on(CANCEL_TOPIC, (id) => {
    const job = id === null ? null : jobs.drop(id)
    const served = job && servedModel(ctx, job)
    const ticket = job?.attempt?.ticket ?? null
    if (served && ticket !== null) void cancelQuietly(ctx, served.engine, { id: job.id, ticket })
  })
  return {
    async stop() {
      stopListening()
      await Promise.all([jobs.stop(), cancels.stop()])
    },
  }
}

/** Does `work` on a job with the settings of its beginning, in the turns of its organization. */
async function withUse<T>(live: LiveContext, { org_id }: Job, work: (ctx: Context) => Promise<T>): Promise<T> {
  const { ctx, end } = live.use()
  try {
    return await takingTurnsAs(org_id, () => work(ctx))
  } finally {
    end()
  }
}

/** Runs a job until it ends or has to wait. A short wait is spent in this consumer; for a longer one the job is released. */
async function work(ctx: Context, claimed: Job, run: StepRun): Promise<{ row: Job; wait_seconds: number } | null> {
  const waiting = await runJob(ctx, claimed, run)
  if (!waiting) return null
  if (waiting.wait_seconds <= HELD_SECONDS) return { row: waiting.job, wait_seconds: waiting.wait_seconds }
  await videoClaims.release(ctx.db, [waiting.job])
  return null
}

/** Asks the engine to stop a render; when it cannot be reached, it is asked again after growing pauses. */
async function stopRender(ctx: Context, job: Job): Promise<null> {
  let again: Date | null = null
  try {
    await cancelAtEngine(ctx, job.id)
  } catch (error) {
    if (isDatabaseDown(error)) throw error
    ctx.log.warn('engine_cancel_failed', { video_id: job.id, ...describeFault(error) })
    const now = ctx.clock.now()
    const since_seconds = (now.getTime() - job.finished_at!.getTime()) / 1000
    again = addSeconds(now, Math.min(CANCEL_PAUSE_SECONDS_MAX, Math.max(1, since_seconds)))
  }
  await askedToStop(ctx.db, job, again)
  return null
}

function logFault(ctx: Context, error: unknown, job: Job | null): void {
  const level = isDatabaseDown(error) ? 'warn' : 'error'
  if (job) ctx.log[level]('job_interrupted', { video_id: job.id, error })
  else ctx.log[level]('queue_failed', { error })
}
