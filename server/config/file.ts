import Type, { type Static } from 'typebox'
import { Oidc } from './login.ts'
import { ChatModel, Decimal, Engine, Seconds, Strict, VideoModel } from './models.ts'
import { Storage } from './storage.ts'
import { MetricsSettings, TracingSettings } from './telemetry.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

export const ROLES = ['api', 'worker', 'all'] as const

/** Sweeps keep a connection each while they run, and need others to do their work. */
export const POOL_LEAST = 4

/** The shape of `kinora.yaml`. Published as JSON Schema in `docs/kinora.schema.json`. Source: docs/configuration.md. */
const Url = (pattern: string, description: string) =>
  Type.String({ pattern, description, patternErrorMessage: 'must begin with http:// or https:// and have no query' })
const Plan = Type.Object(
  {
    max_concurrent_renders: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000, description: 'Default 2.' })),
    max_background_responses: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 100_000, description: 'Default 1000.' }),
    ),
    requests_per_minute: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
        description: 'Per person in an organization. null turns the limit off.',
      }),
    ),
    max_stored_bytes: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
        description:
          'Bytes of files, videos and responses that an organization may store. Default 100000000000 (100 GB). null turns the limit off.',
      }),
    ),
    video_models: Type.Optional(Type.Array(Type.String(), { description: 'Ids, or "*" for all. Default all.' })),
    chat_models: Type.Optional(Type.Array(Type.String(), { description: 'Ids, or "*" for all. Default all.' })),
  },
  Strict,
)

const ADDRESS = '^https?://[^/?#]+(/[^?#]*)?$'

/** A server with OpenAI's `/v1/audio/transcriptions`. */
const Transcription = Type.Object(
  {
    base_url: Type.String({ pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*)?$' }),
    api_key: Type.Optional(Type.String()),
    headers: Type.Optional(Type.Object({}, { additionalProperties: Type.String() })),
    model: Type.String({ minLength: 1 }),
    timeout_seconds: Type.Optional(Seconds(1, 600)),
  },
  Strict,
)

/** Default time limit of a render. */
export const RENDER_SECONDS = 3600

export const ConfigFile = Type.Object(
  {
    host: Type.Optional(Type.String()),
    port: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535 })),
    data_dir: Type.Optional(Type.String()),
    workers: Type.Optional(Type.Integer({ minimum: 1, maximum: 64 })),
    role: Type.Optional(
      Type.Enum([...ROLES], {
        description: 'What this node does: answer requests (api), run jobs (worker), or all. Default all.',
      }),
    ),
    drain_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 300,
        description:
          'How long a node that stops still answers, unready. Default 5 for nodes that share a bucket, otherwise 0.',
      }),
    ),
    database: Type.Optional(
      Type.Object(
        {
          pool: Type.Optional(
            Type.Integer({
              minimum: POOL_LEAST,
              maximum: 500,
              description: 'Maximum number of connections in the pool of each process. Default 10.',
            }),
          ),
        },
        Strict,
      ),
    ),
    log_level: Type.Optional(Type.Enum([...LOG_LEVELS])),
    currency: Type.Optional(
      Type.String({ pattern: '^[a-z]{3}$', patternErrorMessage: 'must be three lower-case letters, such as usd' }),
    ),
    public_url: Type.Optional(
      Url(ADDRESS, 'The URL at which clients reach the service, without /v1, such as https://api.example.com.'),
    ),
    engine_url: Type.Optional(
      Url(ADDRESS, 'The URL at which engines reach the service, without /v1. Default public_url.'),
    ),
    trusted_proxies: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Addresses and networks (CIDR) of your reverse proxies, from which X-Forwarded-For is trusted. Default none.',
      }),
    ),
    cors: Type.Optional(
      Type.Object(
        {
          origins: Type.Array(
            Type.String({
              pattern: '^https?://[a-z0-9.-]+(:[0-9]{1,5})?$|^https?://\\[[0-9a-f:]+\\](:[0-9]{1,5})?$',
              patternErrorMessage: 'must be an origin in lower case, such as https://app.example.com, without a path',
            }),
            {
              maxItems: 1000,
              description: 'Web pages that may call the API from a browser, with an API key. Default none.',
            },
          ),
        },
        Strict,
      ),
    ),
    content_delivery: Type.Optional(
      Type.Enum(['stream', 'x-accel'], {
        description:
          'Who sends the bytes of videos and files: the service (stream), or nginx (x-accel). Default stream.',
      }),
    ),
    signed_url_ttl_seconds: Type.Optional(Seconds(60, 900)),
    api_key_prefix: Type.Optional(
      Type.String({
        pattern: '^[a-z][a-z0-9]{1,7}$',
        description: 'Default kin.',
        patternErrorMessage: 'must be 2 to 8 lower-case letters and digits, beginning with a letter',
      }),
    ),
    activity_retention_days: Type.Optional(
      Type.Integer({
        minimum: 30,
        maximum: 3650,
        description: 'How long entries of who did what are kept. Default 400.',
      }),
    ),
    terms: Type.Optional(
      Type.Object(
        { version: Type.String({ minLength: 1, maxLength: 64 }), url: Url('^https?://', 'The page with the terms.') },
        Strict,
      ),
    ),
    login: Type.Optional(Type.Object({ oidc: Type.Optional(Oidc) }, Strict)),
    plans: Type.Optional(
      Type.Object(
        {},
        { additionalProperties: Plan, description: 'Plans by name. The first is the plan of new organizations.' },
      ),
    ),
    video_models: Type.Optional(Type.Array(VideoModel)),
    chat_models: Type.Optional(Type.Array(ChatModel)),
    moderation: Type.Optional(
      Type.Object(
        {
          engine: Type.Optional(Engine),
          transcription: Type.Optional(Transcription),
          media: Type.Optional(
            Type.Enum(['allow', 'block'], {
              description: 'Whether images and sound that cannot be judged are let through or rejected.',
            }),
          ),
          output: Type.Optional(
            Type.Boolean({
              description: 'Whether finished clips are judged before they are delivered. Default false.',
            }),
          ),
        },
        Strict,
      ),
    ),
    translation: Type.Optional(Type.Object({ engine: Engine }, Strict)),
    prompt_help: Type.Optional(
      Type.Object(
        {
          model: Type.String({ description: 'Id of the chat model that improves video prompts in the console.' }),
          instruction: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 20_000,
              description: 'How prompts are written best, for video models without a prompt_help of their own.',
            }),
          ),
        },
        Strict,
      ),
    ),
    sharing: Type.Optional(
      Type.Object(
        {
          enabled: Type.Optional(
            Type.Boolean({
              description: 'Whether people may share a clip by a link that needs no account. Default false.',
            }),
          ),
          days_max: Type.Optional(
            Type.Integer({ minimum: 1, maximum: 30, description: 'Longest life of a link in days. Default 30.' }),
          ),
        },
        Strict,
      ),
    ),
    storage: Type.Optional(Storage),
    webhooks: Type.Optional(
      Type.Object(
        {
          allow_loopback: Type.Optional(
            Type.Boolean({
              description:
                'Whether a webhook endpoint may be on this machine, with http and any port. For development. Default false.',
            }),
          ),
        },
        Strict,
      ),
    ),
    limits: Type.Optional(
      Type.Object(
        {
          queue_seconds: Type.Optional(Seconds(10, 604_800)),
          response_queue_seconds: Type.Optional(Seconds(10, 604_800)),
          render_seconds: Type.Optional(Seconds(10, 604_800)),
          stalled_after_seconds: Type.Optional(Seconds(60, 604_800)),
          upstream_idle_seconds: Type.Optional(Seconds(1, 3600)),
          upstream_total_seconds: Type.Optional(Seconds(1, 86_400)),
          pipeline_concurrency: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
          request_mebibytes: Type.Optional(Type.Integer({ minimum: 1, maximum: 16_384 })),
          media_children: Type.Optional(
            Type.Integer({
              minimum: 2,
              maximum: 64,
              description: 'Maximum number of child processes for media, in each process.',
            }),
          ),
        },
        Strict,
      ),
    ),
    metrics: Type.Optional(MetricsSettings),
    tracing: Type.Optional(TracingSettings),
    first_run: Type.Optional(
      Type.Object(
        {
          organization: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
          email: Type.Optional(
            Type.String({ pattern: '^[^@\\s]+@[^@\\s]+$', patternErrorMessage: 'must be an email address' }),
          ),
          balance: Type.Optional(Decimal(8)),
        },
        Strict,
      ),
    ),
  },
  Strict,
)
export type ConfigFile = Static<typeof ConfigFile>
