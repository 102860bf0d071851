import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parseMoney } from '../platform/money.ts'
import { StartError } from '../platform/start-error.ts'
import { type Capability, type ConfigFile, type EngineEntry, LOG_LEVELS, RENDER_SECONDS } from './file.ts'
import {
  type EngineCheck,
  integerSetting,
  type Mistake,
  readConfigFile,
  readSecrets,
  type SecretSettings,
} from './read.ts'

export type Plan = {
  max_concurrent_renders: number
  requests_per_minute: number | null
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
}

/** What a chat model charges, in units of 10⁻⁸ of the currency for a million tokens. */
export type TokenPrices = { input: bigint; cached_input: bigint; output: bigint }

export type ChatModelConfig = {
  id: string
  name: string
  description: string
  engine: EngineEntry
  created: number
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
  /** Who sends the bytes of videos and files: this process, or the reverse proxy where it offers to. */
  content_delivery: 'stream' | 'x-accel'
  /** How long the URLs of files given to chat engines live. */
  signed_url_ttl_seconds: number
  api_key_prefix: string
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
  storage: { kind: 'disk' }
  limits: {
    queue_seconds: number
    render_seconds: number
    upstream_idle_seconds: number
    upstream_total_seconds: number
    pipeline_concurrency: number
    /** Null: chosen by the number of CPUs. */
    media_children: number | null
  }
  first_run: { organization: string; email: string; balance: bigint }
}

export type ConfigFlags = { host?: string; port?: string; data_dir?: string; config?: string; workers?: string }

/**
 * Reads flags, environment and file, in that order of precedence, and validates all of it.
 * `checkEngine` null is for commands that work on the database alone: models, engines and logins are left out, with the secrets they name.
 * Throws StartError naming every mistake with its place.
 */
export function loadConfig(flags: ConfigFlags, env: NodeJS.ProcessEnv, checkEngine: EngineCheck | null): Config {
  const path = flags.config ?? env.KINORA_CONFIG
  const config_dir = path === undefined ? process.cwd() : dirname(resolve(path))
  const text = path === undefined ? '' : readText(path)
  const { file, mistakes: found } = readConfigFile(text, { name: path ?? 'kinora.yaml', config_dir, env, checkEngine })
  const port = integerSetting({ flag: flags.port, env: env.KINORA_PORT, name: 'port', min: 0, max: 65_535 }, found)
  const workers = integerSetting(
    { flag: flags.workers, env: env.KINORA_WORKERS, name: 'workers', min: 1, max: 64 },
    found,
  )
  const secrets = readSecrets(env, found)
  const log_level = env.KINORA_LOG_LEVEL || null
  if (log_level !== null && !LOG_LEVELS.some((each) => each === log_level)) {
    found.push({ place: 'KINORA_LOG_LEVEL', message: `must be one of ${LOG_LEVELS.join(', ')}` })
  }
  const database_url = env.DATABASE_URL || null
  if (database_url && !/^postgres(ql)?:\/\//.test(database_url)) {
    found.push({ place: 'DATABASE_URL', message: 'must begin with postgres:// or postgresql://' })
  }
  if (found.length > 0) throw new StartError(describeMistakes(found))
  return {
    ...complete(file),
    host: flags.host ?? env.KINORA_HOST ?? file.host ?? '127.0.0.1',
    port: port ?? file.port ?? 8080,
    config_dir,
    data_dir: resolve(flags.data_dir ?? env.KINORA_DATA_DIR ?? file.data_dir ?? '.kinora'),
    workers: workers ?? file.workers ?? 1,
    log_level: log_level ?? file.log_level ?? 'info',
    database_url,
    ...secrets,
  }
}

export const DEFAULT_PLAN: Plan = {
  max_concurrent_renders: 2,
  requests_per_minute: null,
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

const DEFAULT_CHAT_MODELS: NonNullable<ConfigFile['chat_models']> = [
  {
    id: 'sandbox-1',
    description: 'Embedded test model: deterministic answers for building clients without spending. Not intelligent.',
    engine: 'sandbox',
    capabilities: ['vision', 'tools', 'reasoning', 'structured_outputs', 'logprobs'],
    reasoning_efforts: ['low', 'medium', 'high'],
    price_per_million: { input: '0.10', cached_input: '0.05', output: '0.40' },
  },
]

type Elsewhere = keyof ConfigFlags | 'config_dir' | 'log_level' | 'database_url' | keyof SecretSettings
type FileSettings = Omit<Config, Elsewhere>

/** Fills in the defaults of everything the file may leave out. */
function complete(file: ConfigFile): FileSettings {
  const plans = new Map(
    Object.entries(file.plans ?? { free: {} }).map(([name, plan]) => [name, { ...DEFAULT_PLAN, ...plan }]),
  )
  const ttl = file.signed_url_ttl_seconds ?? 900
  const render_seconds = file.limits?.render_seconds ?? RENDER_SECONDS
  return {
    currency: file.currency ?? 'usd',
    public_url: file.public_url?.replace(/\/+$/, '') ?? null,
    engine_url: file.engine_url?.replace(/\/+$/, '') ?? null,
    trusted_proxies: file.trusted_proxies ?? [],
    content_delivery: file.content_delivery ?? 'stream',
    signed_url_ttl_seconds: ttl,
    api_key_prefix: file.api_key_prefix ?? 'kin',
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
    })),
    chat_models: (file.chat_models ?? DEFAULT_CHAT_MODELS).map(completeChatModel),
    moderation: (file.moderation?.engine as EngineEntry | undefined) ?? 'rules',
    moderation_media: file.moderation?.media ?? null,
    moderation_output: file.moderation?.output ?? false,
    transcription: (file.moderation?.transcription as TranscriptionConfig | undefined) ?? null,
    translation: (file.translation?.engine as EngineEntry | undefined) ?? 'none',
    storage: { kind: 'disk' },
    limits: {
      queue_seconds: file.limits?.queue_seconds ?? 86_400,
      render_seconds,
      upstream_idle_seconds: file.limits?.upstream_idle_seconds ?? 120,
      upstream_total_seconds: file.limits?.upstream_total_seconds ?? 900,
      pipeline_concurrency: file.limits?.pipeline_concurrency ?? 32,
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
    ...{ name, engine: entry as EngineEntry, weight, max_renders },
  }))
}

function completeOidc(oidc: NonNullable<NonNullable<ConfigFile['login']>['oidc']>): OidcConfig {
  return { ...oidc, scopes: [...new Set(['openid', ...(oidc.scopes ?? ['email', 'profile'])])] }
}

/** Shown for models whose entry names no time: the first of 2026. */
const CREATED = 1_767_225_600

function completeChatModel(model: NonNullable<ConfigFile['chat_models']>[number]): ChatModelConfig {
  const { input, cached_input = input, output } = model.price_per_million
  return {
    id: model.id,
    name: model.name ?? model.id,
    description: model.description ?? '',
    engine: model.engine as EngineEntry,
    created: model.created ?? CREATED,
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

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new StartError(`Cannot read the configuration ${path}: ${(error as Error).message}`)
  }
}

function describeMistakes(mistakes: readonly Mistake[]): string {
  const lines = mistakes.map(({ place, message }) => `  ${place}: ${message}`)
  return `The configuration has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}:\n${lines.join('\n')}`
}
