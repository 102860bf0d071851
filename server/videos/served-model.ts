import type { Context } from '../context.ts'
import type { VideoEngine } from '../engines/video.ts'

export type ServedModel = {
  engine: VideoEngine
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
  return { engine: served.engine, model: served.model, render_seconds, signed_url_ttl_seconds }
}
