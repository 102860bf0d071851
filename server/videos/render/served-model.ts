import type { VideoModelConfig } from '../../config/config.ts'
import type { Context } from '../../context.ts'
import type { FormerModel } from '../../engines/registry.ts'
import type { VideoEngine } from '../../engines/video/contract.ts'
import type { PoolMember } from '../../engines/video/pool.ts'
import type { LogFields } from '../../platform/log.ts'
import type { Outcome } from '../job.ts'
import { notAfter, secondsSince } from '../pipeline/retry.ts'
import type { VideoJobRow } from '../store.ts'
import { isBound, type RenderAttempt } from './attempt.ts'

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
 * The engine and settings of a job: the engine that its render was begun on, also when a reload has taken it out of the configuration
 * since. Null when the operator had taken the model, or that engine, out of the configuration before this process started.
 */
export function servedModel(ctx: ConfiguredModels, job: ModelAndStart): ServedModel | null {
  const models = modelsOf(ctx, job)
  const { engine, engine_address } = isBound(job.attempt) ? job.attempt : NOWHERE
  for (const { pool, settings } of models) {
    const member = pool.member(engine)
    if (member && engineAddress(member) === engine_address) return serveOn(member, settings)
  }
  const member = models[0]?.pool.member(engine) ?? null
  return member && serveOn(member, models[0]!.settings)
}

/**
 * The engines of a job's model, and its settings; after a reload that removed the model, as they were before. Null when this process has
 * never known the model.
 */
export function modelOf(ctx: ConfiguredModels, job: { model: string }): FormerModel | null {
  return modelsOf(ctx, job)[0] ?? null
}

/** As configured now, then as before each reload that changed it, newest first. */
function modelsOf({ engines, config }: ConfiguredModels, job: { model: string }): readonly FormerModel[] {
  const pool = engines.video.get(job.model)
  const settings = config.video_models.find(({ id }) => id === job.model)
  const former = (engines.former ?? []).filter((each) => each.settings.id === job.model)
  return pool && settings ? [{ pool, settings }, ...former] : former
}

/** What a ticket is good for: kind and addresses of an engine, whatever its credentials. */
export function engineAddress({ name, urls = [] }: Pick<PoolMember, 'name' | 'urls'>): string {
  return [name, ...urls].join(' ')
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

/** Long enough that the consumer releases the job instead of waiting with it. */
const UNSERVED_SECONDS = 10

/** A model as one of its engines renders it. */
export function serveOn(member: PoolMember, settings: VideoModelConfig): ServedModel {
  const { render_seconds, signed_url_ttl_seconds } = settings
  const { engine, model, name, url = null, references_url = null } = member
  return { engine, model, name, url, references_url, render_seconds, signed_url_ttl_seconds, member }
}

/** Whether the engine knows attempts by their id, so that starting one again cannot render twice. */
export function isRepeatable({ engine, model }: ServedModel): boolean {
  return engine.capabilities(model).idempotency !== 'none'
}

/** Whether renders run in this process and end with it. */
export function isEmbedded({ engine, model }: ServedModel): boolean {
  return engine.capabilities(model).embedded === true
}

/** The log fields of an engine: its name or kind, and the address that renders this job. */
export function engineFields(served: ServedModel, job: Pick<VideoJobRow, 'inputs'>): LogFields {
  const { name, url, references_url, member } = served
  const referred = job.inputs.some(({ role }) => role.startsWith('reference'))
  const address = (referred ? references_url : null) ?? url
  return { engine: member.id ?? name, ...(address !== null && { url: address }) }
}

type ConfiguredModels = Pick<Context, 'config' | 'engines'>
type ModelAndStart = { model: string; attempt: RenderAttempt | null }

const NOWHERE = { engine: null, engine_address: null }
