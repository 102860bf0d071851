import type { VideoModelConfig } from '../../config/config.ts'
import type { Context } from '../../context.ts'
import type { VideoEngine } from '../../engines/video/contract.ts'
import type { EnginePool, PoolMember } from '../../engines/video/pool.ts'
import type { LogFields } from '../../platform/log.ts'
import type { Outcome } from '../job.ts'
import { notAfter, secondsSince } from '../pipeline/retry.ts'
import type { VideoJobRow } from '../store.ts'

export type ServedModel = {
  engine: VideoEngine
  /** Kind and addresses of the engine, for the log. */
  name: string
  url: string | null
  references_url: string | null
  /** What the engine calls the model. */
  model: string
  render_seconds: number
  signed_url_ttl_seconds: number
  /** The engine among those of the model. */
  member: PoolMember
}

/**
 * The engine and settings of a job: the engine that its render was begun on. Null when the operator has taken the model, or that engine,
 * out of the configuration.
 */
export function servedModel(ctx: Pick<Context, 'config' | 'engines'>, job: ModelAndEngine): ServedModel | null {
  const found = modelOf(ctx, job)
  const member = found?.pool.member(job.engine) ?? null
  return found && member && serveOn(member, found.settings)
}

/** The engines of a job's model, and its settings; null when the operator has taken the model out of the configuration. */
export function modelOf(
  ctx: Pick<Context, 'config' | 'engines'>,
  job: { model: string },
): { pool: EnginePool; settings: VideoModelConfig } | null {
  const pool = ctx.engines.video.get(job.model)
  const settings = ctx.config.video_models.find(({ id }) => id === job.model)
  return pool && settings ? { pool, settings } : null
}

/**
 * What becomes of a job whose model, or engine, this process does not know: another process may, during a rolling change of the
 * configuration, so the job waits for one. When its time is up it fails: the operator has taken the model out everywhere.
 */
export function unserved(ctx: Pick<Context, 'config' | 'clock'>, job: VideoJobRow): Outcome {
  const { queue_seconds, render_seconds } = ctx.config.limits
  const begun = job.render_started_at !== null
  const left_seconds = begun
    ? render_seconds - secondsSince(ctx, job.render_started_at!)
    : queue_seconds - secondsSince(ctx, job.queued_at!)
  if (left_seconds <= 0) return { to: 'failed', code: begun ? 'render_timeout' : 'queue_timeout' }
  return notAfter(left_seconds, { to: 'same', retry_after_seconds: UNSERVED_SECONDS })
}

/** Long enough that the worker releases the job instead of waiting with it. */
const UNSERVED_SECONDS = 10

/** A model as one of its engines renders it. */
export function serveOn(member: PoolMember, settings: VideoModelConfig): ServedModel {
  const { render_seconds, signed_url_ttl_seconds } = settings
  const { engine, model, name, url = null, references_url = null } = member
  return { engine, model, name, url, references_url, render_seconds, signed_url_ttl_seconds, member }
}

/** The log fields of an engine: its name or kind, and the address that renders this job. */
export function engineFields(served: ServedModel, job: Pick<VideoJobRow, 'inputs'>): LogFields {
  const { name, url, references_url, member } = served
  const referred = job.inputs.some(({ role }) => role.startsWith('reference'))
  const address = (referred ? references_url : null) ?? url
  return { engine: member.id ?? name, ...(address !== null && { url: address }) }
}

type ModelAndEngine = Pick<VideoJobRow, 'model' | 'engine'>
