import type { Context } from '../../context.ts'
import type { VideoEngine } from '../../engines/video/contract.ts'
import type { LogFields } from '../../platform/log.ts'
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
}

/** The engine and settings of a job's model; null when the operator has taken the model out of the configuration. */
export function servedModel(ctx: Pick<Context, 'config' | 'engines'>, job: { model: string }): ServedModel | null {
  const served = ctx.engines.video.get(job.model)
  const settings = ctx.config.video_models.find(({ id }) => id === job.model)
  if (!served || !settings) return null
  const { render_seconds, signed_url_ttl_seconds } = settings
  const { engine, model, name, url = null, references_url = null } = served
  return { engine, model, name, url, references_url, render_seconds, signed_url_ttl_seconds }
}

/** The log fields of an engine: its kind, and the address that renders this job. */
export function engineFields(served: ServedModel, job: Pick<VideoJobRow, 'inputs'>): LogFields {
  const { name: engine, url, references_url } = served
  const referred = job.inputs.some(({ role }) => role.startsWith('reference'))
  const address = (referred ? references_url : null) ?? url
  return { engine, ...(address !== null && { url: address }) }
}
