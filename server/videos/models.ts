import { entitledVideoModel, entitledVideoModels } from '../catalog/entitlements.ts'
import type { VideoModelConfig } from '../config/config.ts'
import type { Context } from '../context.ts'
import type { Capabilities } from '../engines/video/contract.ts'
import { poolCapabilities } from '../engines/video/pool.ts'
import { type Route, route } from '../identity/caller/route.ts'
import { formatMoney } from '../platform/money.ts'
import { VideoModelList, VideoModelView } from './schema.ts'

const common = { auth: 'api_key_or_session', plain_400: true } as const

const listModels = route({
  ...common,
  method: 'GET',
  path: '/v1/videos/models',
  summary: 'List the video models of your plan',
  description: 'Each with its price for a second, its lengths, aspect ratios and inputs.',
  response: VideoModelList,
  async handle(ctx, { principal }) {
    const data = entitledVideoModels(ctx.config, principal.plan).map((model) => modelView(ctx, model))
    return { object: 'list', data }
  },
})

/** An id may contain slashes, raw or percent-encoded. */
const readModel = route({
  ...common,
  method: 'GET',
  path: '/v1/videos/models/*',
  summary: 'Read a video model',
  description: 'One model of your plan, with its price and what it accepts.',
  response: VideoModelView,
  async handle(ctx, { principal, params }) {
    return modelView(ctx, entitledVideoModel(ctx.config, principal.plan, params['*'] ?? ''))
  },
})

export const videoModelRoutes: readonly Route[] = [listModels, readModel]

/** A catalog entry with the capabilities of its engine, so that clients know them before they submit. */
function modelView(ctx: Pick<Context, 'config' | 'engines'>, model: VideoModelConfig): VideoModelView {
  const { id, name, description, per_second } = model
  return {
    id,
    object: 'video_model',
    name,
    description,
    pricing: [{ resolution: '768p', per_second: formatMoney(per_second, 6), currency: ctx.config.currency }],
    ...capabilitiesView(poolCapabilities(ctx.engines.video.get(id)!)),
  }
}

function capabilitiesView(can: Capabilities) {
  const references = can.modes.has('references')
  const [min, max] = can.seconds
  return {
    inputs: inputsOf(can),
    references_max: references ? { ...can.references_max } : { images: 0, videos: 0, audio: 0, files: 0 },
    seconds: { min, max },
    aspect_ratios: [...can.aspect_ratios],
    cancel: can.cancel,
  }
}

function inputsOf({ modes, references_max: max }: Capabilities): VideoModelView['inputs'] {
  const references = modes.has('references')
  return [
    ...(modes.has('first_frame') ? (['first_frame'] as const) : []),
    ...(modes.has('last_frame') ? (['last_frame'] as const) : []),
    ...(references && max.images > 0 ? (['reference_images'] as const) : []),
    ...(references && max.videos > 0 ? (['reference_videos'] as const) : []),
    ...(references && max.audio > 0 ? (['reference_audio'] as const) : []),
  ]
}
