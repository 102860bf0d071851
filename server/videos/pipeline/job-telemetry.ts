import { createHash } from 'node:crypto'
import { billingMetrics } from '../../billing/metrics.ts'
import type { Context } from '../../context.ts'
import { declareMetrics, type Metrics, STAGE_BUCKETS } from '../../platform/metrics/metrics.ts'
import { asNumber } from '../../platform/money.ts'
import type { SpanContext } from '../../platform/tracing/tracing.ts'
import { FAILURES, isTerminal, type JobStatus, type Outcome } from '../job.ts'
import type { VideoJobRow } from '../store.ts'
import type { Job } from './store.ts'

export const videoMetrics = declareMetrics((metrics) => ({
  created: metrics.counter({
    name: 'kinora_video_jobs_created_total',
    help: 'Video jobs that were accepted.',
    labels: ['model'],
  }),
  ended: metrics.counter({
    name: 'kinora_video_jobs_ended_total',
    help: 'Video jobs that ended, by status; a failed one has a code.',
    labels: ['model', 'status', 'code'],
  }),
  stages: metrics.histogram({
    name: 'kinora_video_stage_duration_seconds',
    help: 'Time that video jobs spent in each stage, waits and retries included, when they left it.',
    labels: ['stage'],
    buckets: STAGE_BUCKETS,
  }),
}))

/** The stages of a job: its statuses, of which the last one is divided where the engine has delivered the clip. */
export type JobStage = 'moderating' | 'translating' | 'queued' | 'rendering' | 'storing'

type Telemetry = Pick<Context, 'metrics' | 'tracing'>

/** Counts a job that was accepted, and refers from the request to the trace of the job. */
export function recordCreated({ metrics, tracing }: Telemetry, job: { id: string; model: string }): void {
  videoMetrics(metrics).created.of(job.model).add(1)
  const attributes = { 'kinora.video_id': job.id, 'kinora.model': job.model }
  tracing?.start('video submit', { kind: 'internal', links: [jobSpan(job)], attributes }).end()
}

/** Reports the ends of jobs of these models as 0 before the first one, without which Prometheus sees no increase. */
export function expectEnds(metrics: Metrics, models: ReadonlyArray<{ id: string }>): void {
  const { ended } = videoMetrics(metrics)
  for (const { id } of models) {
    ended.of(id, 'completed', '')
    for (const code of Object.keys(FAILURES)) ended.of(id, 'failed', code)
  }
}

/**
 * Counts and traces that a job has moved on. Call it once the change is committed: then it is the only one who does. It never throws for a
 * row it does not expect: a stage whose beginning is not known is left out.
 */
export function recordMove(
  ctx: Telemetry,
  before: VideoJobRow,
  { job, outcome }: { job: Job; outcome: Outcome },
): void {
  if (job.status === before.status) return
  const end = endOf(job)
  const storing_since = outcome.to === 'completed' ? outcome.storing_since : undefined
  recordStage(ctx, job, { stage: jobStageOf(before.status), since: startOf(before), end: storing_since ?? end })
  if (storing_since) recordStage(ctx, job, { stage: 'storing', since: storing_since, end })
  if (!isTerminal(job.status)) return
  const code = outcome.to === 'failed' ? outcome.code : ''
  videoMetrics(ctx.metrics).ended.of(job.model, job.status, code).add(1)
  if (job.status === 'completed')
    billingMetrics(ctx.metrics).charged.of('video', job.model, job.currency).add(asNumber(job.cost))
  const attributes = {
    'kinora.video_id': job.id,
    'kinora.model': job.model,
    'kinora.video.status': job.status,
    ...(job.attempt?.engine != null && { 'kinora.engine': job.attempt.engine }),
  }
  ctx.tracing
    ?.start('video job', { kind: 'internal', parent: null, id: jobSpan(job), attributes, at: job.created_at })
    .end({ ...(end && { at: end }), ...(code !== '' && { error: code }) })
}

/** Runs `work` so that the calls it makes are traced as part of this stage. */
export function withinStage<T>(
  { tracing }: Pick<Context, 'tracing'>,
  job: VideoJobRow,
  stage: JobStage,
  work: () => T,
): T {
  return tracing ? tracing.within(stageSpan(job, stage), work) : work()
}

export function jobStageOf(status: JobStatus): JobStage {
  return status === 'in_progress' ? 'rendering' : (status as JobStage)
}

function recordStage(
  { metrics, tracing }: Telemetry,
  job: VideoJobRow,
  { stage, since, end }: { stage: JobStage; since: Date | null; end: Date | null },
): void {
  if (since === null || end === null) return
  videoMetrics(metrics)
    .stages.of(stage)
    .observe(Math.max(0, end.getTime() - since.getTime()) / 1000)
  const attributes = { 'kinora.video_id': job.id, 'kinora.model': job.model }
  const id = stageSpan(job, stage)
  tracing
    ?.start(`video ${stage}`, { kind: 'internal', parent: jobSpan(job), id, attributes, at: since })
    .end({ at: end })
}

/** When the job came to its status, one that is not its last. */
function startOf(job: VideoJobRow): Date | null {
  switch (job.status) {
    case 'moderating':
      return job.created_at
    case 'translating':
      return job.moderated_at
    case 'queued':
      return job.queued_at
    default:
      return job.render_started_at
  }
}

/** When the job came to the status it has now. */
function endOf(job: VideoJobRow): Date | null {
  return job.finished_at ?? startOf(job)
}

/**
 * The spans of a job have ids that follow from its own, so that every process that works on it, in turn or after a crash, adds to one
 * trace. Whether they are sampled follows from the id of the trace.
 */
function jobSpan({ id }: { id: string }): SpanContext {
  return { ...derivedIds(id, 'job'), sampled: true, remote: true }
}

function stageSpan({ id }: { id: string }, stage: JobStage): SpanContext {
  return { ...derivedIds(id, stage), sampled: true, remote: true }
}

/** The same ids wherever they are derived: `name` is that of a thing on which several processes work, `part` one span of its trace. */
function derivedIds(name: string, part: string): { trace_id: string; span_id: string } {
  const digest = (text: string) => createHash('sha256').update(text).digest('hex')
  return { trace_id: digest(`trace:${name}`).slice(0, 32), span_id: digest(`span:${name}/${part}`).slice(0, 16) }
}
