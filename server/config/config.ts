import type { Capability, EngineEntry } from './models.ts'
import type { SecretSettings } from './secrets.ts'
import type { StorageConfig } from './storage.ts'
import type { MetricsConfig, TracingConfig } from './telemetry.ts'

export type Plan = {
  max_concurrent_renders: number
  max_background_responses: number
  requests_per_minute: number | null
  /** Null: any number. */
  max_stored_bytes: number | null
  video_models: readonly string[]
  chat_models: readonly string[]
}

export type VideoModelConfig = {
  id: string
  name: string
  description: string
  /** The only one has no name. */
  engines: ReadonlyArray<{ name: string | null; engine: EngineEntry; weight: number; max_renders: number | null }>
  /** Units of 10⁻⁸ of the currency. */
  per_second: bigint
  /** How long the URLs of files given to the engine live, unless its own entry sets another time. */
  signed_url_ttl_seconds: number
  render_seconds: number
  /** Most code points of a prompt that the model takes, as it reaches the engine. Null: any number. */
  prompt_max: number | null
  /** How its prompts are written best. Null: as those of any other model. */
  prompt_help: string | null
}

/** What a chat model charges, in units of 10⁻⁸ of the currency for a million tokens. */
export type TokenPrices = { input: bigint; cached_input: bigint; output: bigint }

export type ChatModelConfig = {
  id: string
  name: string
  description: string
  engine: EngineEntry
  created: number
  /** The day on which it ends, as YYYY-MM-DD. */
  shutdown_date: string | null
  context_length: number | null
  max_output_tokens: number | null
  capabilities: readonly Capability[]
  reasoning_efforts: readonly string[]
  default_reasoning_effort: string | null
  extra_params: readonly string[]
  /** How several choices are made: by the model server, by one call each, or not at all. */
  n: 'native' | 'fan_out' | 1
  hash_user: boolean
  /** Responses include the raw reasoning of the model besides summaries. */
  expose_raw_reasoning: boolean
  prices: TokenPrices
}

/** The identity provider people may sign in with. */
export type OidcConfig = {
  name: string
  issuer: string
  client_id: string
  client_secret: string
  scopes: readonly string[]
}

/** A server of OpenAI's `/v1/audio/transcriptions`. */
export type TranscriptionConfig = {
  base_url: string
  api_key?: string
  headers?: Record<string, string>
  model: string
  timeout_seconds?: number
}

/** Every setting, validated and complete. Only the choice of FFmpeg (`media/ffmpeg/choose.ts`) and failpoints of tests are read from the environment elsewhere. */
export type Config = SecretSettings & {
  host: string
  port: number
  data_dir: string
  /** Where relative paths of the file start: its own directory, or the working directory without a file. */
  config_dir: string
  workers: number
  /** What this node does: answer requests, run jobs, or both. */
  role: 'api' | 'worker' | 'all'
  /** How long a node that stops still answers, while `/readyz` says that it is not ready. */
  drain_seconds: number
  /** `pool`: most connections in the pool of each process. */
  database: { pool: number }
  log_level: string
  /** Null: Kinora runs its own PostgreSQL under the data directory. */
  database_url: string | null
  currency: string
  /** Null: where the service listens. */
  public_url: string | null
  /** Null: the same as the public URL. */
  engine_url: string | null
  /** Addresses and networks of reverse proxies whose `X-Forwarded-For` is trusted. */
  trusted_proxies: readonly string[]
  /** Origins of web pages that may call the API from a browser. */
  cors: { origins: readonly string[] }
  /** Who sends the bytes of videos and files: this process, or the reverse proxy where it offers to. */
  content_delivery: 'stream' | 'x-accel'
  /** How long the URLs of files given to chat engines live. */
  signed_url_ttl_seconds: number
  api_key_prefix: string
  /** How long entries of what operators and people changed are kept. */
  activity_retention_days: number
  /** The video terms in force. `url` null: the service's own page. */
  terms: { version: string; url: string | null }
  login: { oidc: OidcConfig | null }
  /** By name; the first is the default plan. */
  plans: ReadonlyMap<string, Plan>
  default_plan: string
  video_models: readonly VideoModelConfig[]
  chat_models: readonly ChatModelConfig[]
  moderation: EngineEntry
  /** What happens to media that cannot be judged. Null: the default of the moderation engine. */
  moderation_media: 'allow' | 'block' | null
  moderation_output: boolean
  /** The server that turns sound into text for moderation; null: there is none. */
  transcription: TranscriptionConfig | null
  translation: EngineEntry
  /** The chat model that improves prompts in the console, and how they are written best. Null: there is none. */
  prompt_help: { model: string; instruction: string } | null
  /** Whether people may share a clip by a link that needs no account, and for how long at most. Null: they may not. */
  sharing: { days_max: number } | null
  storage: StorageConfig
  /** `allow_loopback`: endpoints may be on this machine, with http and any port. */
  webhooks: { allow_loopback: boolean }
  limits: {
    queue_seconds: number
    /** From the creation of a background response until its answer begins. */
    response_queue_seconds: number
    render_seconds: number
    /** A customer may leave a render of which its engine has said nothing usable for this long. */
    stalled_after_seconds: number
    upstream_idle_seconds: number
    upstream_total_seconds: number
    pipeline_concurrency: number
    /** That the unanswered requests of an organization hold in one process. */
    request_mebibytes: number
    /** Null: chosen by the number of CPUs. */
    media_children: number | null
  }
  /** Null: metrics are not served. */
  metrics: MetricsConfig | null
  /** Null: no traces. */
  tracing: TracingConfig | null
  first_run: { organization: string; email: string; balance: bigint }
}
