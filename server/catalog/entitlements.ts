import type { ChatModelConfig, Config, Plan, VideoModelConfig } from '../config/config.ts'
import { ApiError } from '../platform/errors.ts'

/** The plan an organization is on. A plan that left the configuration entitles to nothing until the operator sets another. */
export function planOf(config: Config, name: string): Plan {
  return (
    config.plans.get(name) ?? {
      max_concurrent_renders: 0,
      max_background_responses: 0,
      requests_per_minute: null,
      max_stored_bytes: 0,
      video_models: [],
      chat_models: [],
    }
  )
}

/** The video models the plan is entitled to, in the order of the configuration. */
export function entitledVideoModels(config: Config, plan: string): VideoModelConfig[] {
  const { video_models } = planOf(config, plan)
  return config.video_models.filter(({ id }) => video_models.includes('*') || video_models.includes(id))
}

/** One of them. Throws ApiError `model_not_found`, with one text for unknown models and those of other plans. */
export function entitledVideoModel(config: Config, plan: string, id: string): VideoModelConfig {
  const model = entitledVideoModels(config, plan).find((candidate) => candidate.id === id)
  if (model) return model
  throw new ApiError(
    'model_not_found',
    `The model '${id}' does not exist or your plan does not include it. List video models with GET /v1/videos/models.`,
    {
      param: 'model',
    },
  )
}

/** The chat models the plan is entitled to, in the order of the configuration. */
export function entitledChatModels(config: Config, plan: string): ChatModelConfig[] {
  const { chat_models } = planOf(config, plan)
  return config.chat_models.filter(({ id }) => chat_models.includes('*') || chat_models.includes(id))
}

/** One of them. Throws ApiError `model_not_found`, with one text for unknown models and those of other plans. */
export function entitledChatModel(config: Config, plan: string, id: string): ChatModelConfig {
  const model = entitledChatModels(config, plan).find((candidate) => candidate.id === id)
  if (model) return model
  throw new ApiError(
    'model_not_found',
    `The model '${id}' does not exist or your plan does not include it. List models with GET /v1/models.`,
    { param: 'model' },
  )
}
