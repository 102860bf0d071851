import Type from 'typebox'

/** The parts of `kinora.yaml` about models, and the shapes they share with the rest. */
export const Decimal = (digits: number) => {
  const words = `must be an amount in quotation marks, such as "0.01", with at most ${digits} digits after the point`
  return Type.String({
    pattern: `^\\d{1,9}(\\.\\d{1,${digits}})?$`,
    description: `An amount in quotation marks, such as "0.01".`,
    errorMessage: words,
    patternErrorMessage: words,
  })
}
export const Strict = { additionalProperties: false }
export const Seconds = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum })
const ModelId = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$',
  description: 'What clients send as `model`.',
  patternErrorMessage: 'must begin with a letter or digit and have at most 128 letters, digits and . _ : / -',
})
/** One engine entry: a name, or a kind with its options. Checked by `engines/registry.ts`. */
export type EngineEntry = string | { kind: string; [option: string]: unknown }

export const Engine = Type.Union(
  [Type.String(), Type.Object({ kind: Type.String() }, { additionalProperties: true })],
  {
    description: 'A name, or { kind, ... }. For the options of each kind, see docs/configuration.md.',
    errorMessage: 'must be the name of an engine, or a map with its kind',
  },
)

export const VideoModel = Type.Object(
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
    prompt_max: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description:
          'Most characters of a prompt that the model takes, in English where it was translated. Default no limit.',
      }),
    ),
    prompt_help: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 20_000,
        description: 'How prompts for this model are written best, for the chat model of `prompt_help`.',
      }),
    ),
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

export const ChatModel = Type.Object(
  {
    id: ModelId,
    name: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    engine: Engine,
    created: Type.Optional(Type.Integer({ minimum: 0, description: 'Unix seconds, shown in the listing.' })),
    shutdown_date: Type.Optional(
      Type.String({
        pattern: '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$',
        description: 'The day on which the model ends, such as 2027-06-30, shown in the listing.',
        patternErrorMessage: 'must be a day, such as 2027-06-30',
      }),
    ),
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
