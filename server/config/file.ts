import Type, { type Static } from 'typebox'
import { Oidc } from './login.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

/** The shape of `kinora.yaml`. Published as JSON Schema in `docs/kinora.schema.json`. Source: docs/configuration.md. */
const Decimal = (digits: number) => {
  const words = `must be an amount in quotation marks, such as "0.01", with at most ${digits} digits after the point`
  return Type.String({
    pattern: `^\\d{1,9}(\\.\\d{1,${digits}})?$`,
    description: `An amount in quotation marks, such as "0.01".`,
    errorMessage: words,
    patternErrorMessage: words,
  })
}
const Url = (pattern: string, description: string) =>
  Type.String({ pattern, description, patternErrorMessage: 'must begin with http:// or https:// and have no query' })
const Strict = { additionalProperties: false }
const Seconds = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum })
const ModelId = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$',
  description: 'What clients send as `model`.',
  patternErrorMessage: 'must begin with a letter or digit and have at most 128 letters, digits and . _ : / -',
})
/** One engine entry: a name, or a kind with its options. Checked by `engines/registry.ts`. */
export type EngineEntry = string | { kind: string; [option: string]: unknown }

const Engine = Type.Union([Type.String(), Type.Object({ kind: Type.String() }, { additionalProperties: true })], {
  description: 'A name, or { kind, ... }. For the options of each kind, see docs/configuration.md.',
  errorMessage: 'must be the name of an engine, or a map with its kind',
})

const Plan = Type.Object(
  {
    max_concurrent_renders: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000, description: 'Default 2.' })),
    requests_per_minute: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
        description: 'Per API key. null turns the limit off.',
      }),
    ),
    video_models: Type.Optional(Type.Array(Type.String(), { description: 'Ids, or "*" for all. Default all.' })),
    chat_models: Type.Optional(Type.Array(Type.String(), { description: 'Ids, or "*" for all. Default all.' })),
  },
  Strict,
)

const VideoModel = Type.Object(
  {
    id: ModelId,
    name: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    engine: Type.Optional(Engine),
    engines: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.String({
              pattern: '^[a-z0-9][a-z0-9._-]{0,63}$',
              description: 'Kept with each job that it renders: do not rename it while it renders.',
              patternErrorMessage: 'must have at most 64 lower-case letters, digits and . _ -',
            }),
            engine: Engine,
            weight: Type.Optional(
              Type.Number({ exclusiveMinimum: 0, maximum: 1000, description: 'Share of the renders. Default 1.' }),
            ),
            max_renders: Type.Optional(
              Type.Integer({
                minimum: 1,
                maximum: 100_000,
                description: 'Renders of this model at a time. Default no limit.',
              }),
            ),
          },
          Strict,
        ),
        { minItems: 1, maxItems: 64, description: 'Instead of `engine`: several that render this model.' },
      ),
    ),
    per_second: Decimal(6),
    signed_url_ttl_seconds: Type.Optional(
      Type.Integer({ minimum: 60, maximum: 604_800, description: 'At most the time limit of a render of this model.' }),
    ),
    render_seconds: Type.Optional(Seconds(10, 604_800)),
  },
  Strict,
)

/** Members of a chat body that are forwarded only if a model's `extra_params` names them. Source: docs/api/chat.md, parameters. */
export const EXTRA_PARAMS = [
  'metadata',
  'service_tier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
  'verbosity',
  'prediction',
  'moderation',
  'min_tokens',
  'stop_token_ids',
  'ignore_eos',
  'length_penalty',
  'skip_special_tokens',
  'include_stop_str_in_output',
  'chat_template_kwargs',
  'mm_processor_kwargs',
  'structured_outputs',
  'include_reasoning',
] as const

const CAPABILITIES = ['vision', 'video', 'audio', 'tools', 'reasoning', 'structured_outputs', 'logprobs'] as const
export type Capability = (typeof CAPABILITIES)[number]

const ChatModel = Type.Object(
  {
    id: ModelId,
    name: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    engine: Engine,
    created: Type.Optional(Type.Integer({ minimum: 0, description: 'Unix seconds, shown in the listing.' })),
    context_length: Type.Optional(Type.Integer({ minimum: 1 })),
    max_output_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
    capabilities: Type.Optional(Type.Array(Type.Enum([...CAPABILITIES]))),
    reasoning_efforts: Type.Optional(Type.Array(Type.String({ minLength: 1 }))),
    default_reasoning_effort: Type.Optional(Type.String({ minLength: 1 })),
    extra_params: Type.Optional(
      Type.Array(Type.Enum([...EXTRA_PARAMS]), {
        description: 'Request fields that are forwarded to this model unchanged.',
      }),
    ),
    n: Type.Optional(
      Type.Union([Type.Literal('native'), Type.Literal('fan_out'), Type.Literal(1)], {
        description:
          'How several choices are made. native (default): the model server is asked for n. fan_out: one call per choice, one charge. 1: more than one is rejected.',
      }),
    ),
    hash_user: Type.Optional(
      Type.Boolean({ description: 'Forward `user` and `safety_identifier` only as keyed hashes.' }),
    ),
    expose_raw_reasoning: Type.Optional(
      Type.Boolean({
        description: 'Responses contain the unmodified reasoning of the model, next to summaries. Default false.',
      }),
    ),
    price_per_million: Type.Object(
      { input: Decimal(8), cached_input: Type.Optional(Decimal(8)), output: Decimal(8) },
      Strict,
    ),
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
    storage: Type.Optional(Type.Object({ kind: Type.Literal('disk') }, Strict)),
    limits: Type.Optional(
      Type.Object(
        {
          queue_seconds: Type.Optional(Seconds(10, 604_800)),
          render_seconds: Type.Optional(Seconds(10, 604_800)),
          upstream_idle_seconds: Type.Optional(Seconds(1, 3600)),
          upstream_total_seconds: Type.Optional(Seconds(1, 86_400)),
          pipeline_concurrency: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
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
