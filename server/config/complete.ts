import { parseMoney } from '../platform/money.ts'
import type { ChatModelConfig, Config, OidcConfig, Plan, TranscriptionConfig } from './config.ts'
import { type ConfigFile, RENDER_SECONDS } from './file.ts'
import type { EngineEntry } from './models.ts'
import type { SecretSettings } from './secrets.ts'
import { completeStorage } from './storage.ts'

export const DEFAULT_PLAN: Plan = {
  max_concurrent_renders: 2,
  max_background_responses: 1000,
  requests_per_minute: null,
  max_stored_bytes: 100_000_000_000,
  video_models: ['*'],
  chat_models: ['*'],
}

const DEFAULT_VIDEO_MODELS: NonNullable<ConfigFile['video_models']> = [
  {
    id: 'storyboard-1',
    name: 'Storyboard',
    description:
      'Embedded preview renderer: an animatic of your prompt, frames and references. Not a generative model.',
    engine: 'storyboard',
    per_second: '0.010000',
  },
]

export const DEFAULT_CHAT_MODELS: NonNullable<ConfigFile['chat_models']> = [
  {
    id: 'sandbox-1',
    description: 'Embedded test model: deterministic answers for building clients without spending. Not intelligent.',
    engine: 'sandbox',
    capabilities: ['vision', 'tools', 'reasoning', 'structured_outputs', 'logprobs'],
    reasoning_efforts: ['low', 'medium', 'high'],
    price_per_million: { input: '0.10', cached_input: '0.05', output: '0.40' },
  },
]

/** What video models in general follow best: one paragraph that says what is seen and heard, in the order in which it happens. */
const PROMPT_INSTRUCTION = `You rewrite prompts for a text-to-video model. Write one paragraph in the language of the prompt: the subject and what it looks like, what it does in the order in which it happens, the place, the camera and its movement, the light, and the sound. Be concrete, keep everything the prompt says, and add only what fits it. A clip lasts 4 to 15 seconds: do not add scenes.
Copy every <d>...</d> exactly, with its tags, once and in the same order: it is what is spoken. Copy names such as <Picture 1>, <Video 1> and <Audio 1> exactly. Text that is shown in the picture stays in quotation marks.
Answer with the new prompt alone.`

type Elsewhere =
  | 'host'
  | 'port'
  | 'data_dir'
  | 'workers'
  | 'role'
  | 'drain_seconds'
  | 'database'
  | 'config_dir'
  | 'log_level'
  | 'database_url'
  | 'metrics'
  | 'tracing'
  | keyof SecretSettings
type FileSettings = Omit<Config, Elsewhere>

/** Fills in the defaults of everything the file may leave out. */
export function complete(file: ConfigFile): FileSettings {
  const plans = new Map(
    Object.entries(file.plans ?? { free: {} }).map(([name, plan]) => [name, { ...DEFAULT_PLAN, ...plan }]),
  )
  const ttl = file.signed_url_ttl_seconds ?? 900
  const queue_seconds = file.limits?.queue_seconds ?? 86_400
  const render_seconds = file.limits?.render_seconds ?? RENDER_SECONDS
  return {
    currency: file.currency ?? 'usd',
    public_url: file.public_url?.replace(/\/+$/, '') ?? null,
    engine_url: file.engine_url?.replace(/\/+$/, '') ?? null,
    trusted_proxies: file.trusted_proxies ?? [],
    cors: { origins: file.cors?.origins ?? [] },
    content_delivery: file.content_delivery ?? 'stream',
    signed_url_ttl_seconds: ttl,
    api_key_prefix: file.api_key_prefix ?? 'kin',
    activity_retention_days: file.activity_retention_days ?? 400,
    terms: file.terms ?? { version: '2026-11-01', url: null },
    login: { oidc: file.login?.oidc ? completeOidc(file.login.oidc) : null },
    plans,
    default_plan: plans.keys().next().value!,
    video_models: (file.video_models ?? DEFAULT_VIDEO_MODELS).map((model) => ({
      id: model.id,
      name: model.name ?? model.id,
      description: model.description ?? '',
      engines: completeEngines(model),
      per_second: parseMoney(model.per_second)!,
      signed_url_ttl_seconds: model.signed_url_ttl_seconds ?? Math.min(ttl, model.render_seconds ?? render_seconds),
      render_seconds: model.render_seconds ?? render_seconds,
      prompt_max: model.prompt_max ?? null,
      prompt_help: model.prompt_help ?? null,
    })),
    chat_models: (file.chat_models ?? DEFAULT_CHAT_MODELS).map(completeChatModel),
    moderation: (file.moderation?.engine as EngineEntry | undefined) ?? 'rules',
    moderation_media: file.moderation?.media ?? null,
    moderation_output: file.moderation?.output ?? false,
    transcription: (file.moderation?.transcription as TranscriptionConfig | undefined) ?? null,
    translation: (file.translation?.engine as EngineEntry | undefined) ?? 'none',
    prompt_help: file.prompt_help ? { instruction: PROMPT_INSTRUCTION, ...file.prompt_help } : null,
    sharing: file.sharing?.enabled ? { days_max: file.sharing.days_max ?? 30 } : null,
    storage: completeStorage(file.storage),
    webhooks: { allow_loopback: file.webhooks?.allow_loopback ?? false },
    limits: {
      queue_seconds,
      response_queue_seconds: file.limits?.response_queue_seconds ?? queue_seconds,
      render_seconds,
      stalled_after_seconds: file.limits?.stalled_after_seconds ?? 600,
      upstream_idle_seconds: file.limits?.upstream_idle_seconds ?? 120,
      upstream_total_seconds: file.limits?.upstream_total_seconds ?? 900,
      pipeline_concurrency: file.limits?.pipeline_concurrency ?? 32,
      request_mebibytes: file.limits?.request_mebibytes ?? 40,
      media_children: file.limits?.media_children ?? null,
    },
    first_run: {
      organization: file.first_run?.organization ?? 'Default',
      email: file.first_run?.email ?? 'owner@kinora.local',
      balance: parseMoney(file.first_run?.balance ?? '100.00')!,
    },
  }
}

function completeEngines({ engine, engines }: NonNullable<ConfigFile['video_models']>[number]) {
  if (engines === undefined) return [{ name: null, engine: engine as EngineEntry, weight: 1, max_renders: null }]
  return engines.map(({ name, engine: entry, weight = 1, max_renders = null }) => ({
    name,
    engine: entry as EngineEntry,
    weight,
    max_renders,
  }))
}

function completeOidc(oidc: NonNullable<NonNullable<ConfigFile['login']>['oidc']>): OidcConfig {
  return { ...oidc, scopes: [...new Set(['openid', ...(oidc.scopes ?? ['email', 'profile'])])] }
}

function completeChatModel(model: NonNullable<ConfigFile['chat_models']>[number]): ChatModelConfig {
  const { input, cached_input = input, output } = model.price_per_million
  return {
    id: model.id,
    name: model.name ?? model.id,
    description: model.description ?? '',
    engine: model.engine as EngineEntry,
    created: model.created ?? 0,
    shutdown_date: model.shutdown_date ?? null,
    context_length: model.context_length ?? null,
    max_output_tokens: model.max_output_tokens ?? null,
    capabilities: model.capabilities ?? [],
    reasoning_efforts: model.reasoning_efforts ?? [],
    default_reasoning_effort: model.default_reasoning_effort ?? null,
    extra_params: model.extra_params ?? [],
    n: model.n ?? 'native',
    hash_user: model.hash_user ?? false,
    expose_raw_reasoning: model.expose_raw_reasoning ?? false,
    prices: { input: parseMoney(input)!, cached_input: parseMoney(cached_input)!, output: parseMoney(output)! },
  }
}
