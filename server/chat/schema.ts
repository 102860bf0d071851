import Type, { type Static } from 'typebox'
import type { TextRepair } from '../platform/schema/validate.ts'
import { AssistantPart, TextPartSchema, UserPart } from './parts/schema.ts'

/** Wire shapes of `POST /v1/chat/completions`. Members that are not named here are accepted and ignored, never forwarded. */
const Name = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })
/** Forwarded as it is, never compiled. */
const JsonSchemaObject = Type.Unsafe<Record<string, unknown>>(Type.Object({}, { additionalProperties: true }))

/**
 * Maximum lengths of arrays in requests of chat and responses, where the specification sets none: more than any known client sends, and few
 * enough that checking a body does not block other requests. Source: docs/api/chat.md, parameters.
 */
export const LENGTHS_MAX = {
  items: 20_000,
  parts: 10_000,
  calls: 1000,
  tools: 1000,
  names: 64,
  biases: 10_000,
} as const

/**
 * Members whose text names something, and where: what cannot be stored is rejected there, in chat and in responses. All other text is
 * repaired, since a message that is rejected once is rejected at every later request of its conversation. Source: contract 2.3.
 */
export const TEXT_REPAIR: TextRepair = {
  except: new Set([
    ...['id', 'call_id', 'tool_call_id', 'file_id', 'previous_response_id', 'stream_id'],
    ...['model', 'name', 'namespace', 'role', 'type'],
    ...['user', 'safety_identifier', 'prompt_cache_key'],
  ]),
  within: new Set([
    ...['messages', 'content', 'file', 'tool_calls', 'tools', 'function', 'tool_choice', 'allowed_tools'],
    ...['input', 'output', 'summary', 'response', 'response_format', 'json_schema', 'text', 'format'],
  ]),
}

/** In the place of a text: its JSON. */
export const AnyObject = Type.Unsafe<Record<string, unknown>>(Type.Object({}, { additionalProperties: Type.Unknown() }))
const Texts = Type.Union([Type.String(), Type.Array(TextPartSchema, { minItems: 1, maxItems: LENGTHS_MAX.parts })])
/** What the model's server wants back with a call, such as Gemini's `google.thought_signature`. Passed on both ways as it is. */
export const ExtraContentSchema = Type.Unsafe<Record<string, unknown>>(
  Type.Object({}, { additionalProperties: true, description: 'Send it back with the call: some models require it.' }),
)
/** Of any length: the model's server chose them. */
const callId = Type.String({ minLength: 1 })
const callName = Type.String({ minLength: 1 })
const ToolCall = Type.Object({
  id: callId,
  type: Type.Literal('function'),
  function: Type.Object({ name: callName, arguments: Type.String() }),
  extra_content: Type.Optional(ExtraContentSchema),
})
const SentToolCall = Type.Object({
  id: callId,
  type: Type.Optional(Type.Literal('function')),
  function: Type.Object({ name: callName, arguments: Type.Optional(Type.Union([Type.String(), AnyObject])) }),
  extra_content: Type.Optional(ExtraContentSchema),
})

const Message = Type.Union([
  Type.Object({ role: Type.Literal('system'), content: Texts, name: Type.Optional(Type.String()) }),
  Type.Object({ role: Type.Literal('developer'), content: Texts, name: Type.Optional(Type.String()) }),
  Type.Object({
    role: Type.Literal('user'),
    content: Type.Union([Type.String(), Type.Array(UserPart, { minItems: 1, maxItems: LENGTHS_MAX.parts })]),
    name: Type.Optional(Type.String()),
  }),
  Type.Object({
    role: Type.Literal('assistant'),
    content: Type.Optional(Type.Union([Type.String(), Type.Array(AssistantPart, { maxItems: LENGTHS_MAX.parts })])),
    name: Type.Optional(Type.String()),
    tool_calls: Type.Optional(Type.Array(SentToolCall, { maxItems: LENGTHS_MAX.calls })),
    refusal: Type.Optional(Type.String()),
    reasoning_content: Type.Optional(Type.String()),
    reasoning: Type.Optional(Type.String()),
  }),
  Type.Object({
    role: Type.Literal('tool'),
    tool_call_id: Type.String({ minLength: 1 }),
    content: Type.Optional(
      Type.Union([Type.String(), Type.Array(UserPart, { maxItems: LENGTHS_MAX.parts }), AnyObject]),
    ),
  }),
])
export type BodyMessage = Static<typeof Message>

const Tool = Type.Object({
  type: Type.Literal('function'),
  function: Type.Object({
    name: Name,
    description: Type.Optional(Type.String()),
    parameters: Type.Optional(JsonSchemaObject),
    strict: Type.Optional(Type.Boolean()),
  }),
})

const NamedTool = Type.Object({ type: Type.Literal('function'), function: Type.Object({ name: Type.String() }) })
const ToolChoice = Type.Union([
  Type.Enum(['none', 'auto', 'required'], { type: 'string' }),
  NamedTool,
  Type.Object({
    type: Type.Literal('allowed_tools'),
    allowed_tools: Type.Object({
      mode: Type.Enum(['auto', 'required']),
      tools: Type.Array(NamedTool, { minItems: 1, maxItems: LENGTHS_MAX.tools }),
    }),
  }),
])

const ResponseFormat = Type.Union([
  Type.Object({ type: Type.Literal('text') }),
  Type.Object({ type: Type.Literal('json_object'), schema: Type.Optional(JsonSchemaObject) }),
  Type.Object({
    type: Type.Literal('json_schema'),
    json_schema: Type.Object({
      name: Name,
      description: Type.Optional(Type.String()),
      schema: Type.Optional(JsonSchemaObject),
      strict: Type.Optional(Type.Boolean()),
    }),
  }),
])

/** At most 16 pairs; keys of 1 to 64 characters, values of at most 512. */
export const Metadata = Type.Object(
  {},
  {
    additionalProperties: Type.String({ maxLength: 512 }),
    maxProperties: 16,
    description: 'Keys of 1 to 64 characters.',
  },
)

const Penalty = Type.Number({ minimum: -2, maximum: 2 })
const Tokens = Type.Integer({ minimum: 1 })

export const ChatBody = Type.Object({
  model: Type.String({ minLength: 1, maxLength: 256 }),
  messages: Type.Array(Message, { minItems: 1, maxItems: LENGTHS_MAX.items }),
  stream: Type.Optional(Type.Boolean()),
  stream_options: Type.Optional(
    Type.Object({ include_usage: Type.Optional(Type.Boolean()), include_obfuscation: Type.Optional(Type.Boolean()) }),
  ),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  n: Type.Optional(Type.Integer({ minimum: 1, maximum: 128 })),
  max_tokens: Type.Optional(Tokens),
  max_completion_tokens: Type.Optional(Tokens),
  stop: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 4 })])),
  frequency_penalty: Type.Optional(Penalty),
  presence_penalty: Type.Optional(Penalty),
  logprobs: Type.Optional(Type.Boolean()),
  top_logprobs: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
  logit_bias: Type.Optional(
    Type.Unsafe<Record<string, number>>(
      Type.Object(
        {},
        { additionalProperties: Type.Number({ minimum: -100, maximum: 100 }), maxProperties: LENGTHS_MAX.biases },
      ),
    ),
  ),
  response_format: Type.Optional(ResponseFormat),
  seed: Type.Optional(Type.Integer()),
  tools: Type.Optional(Type.Array(Tool, { maxItems: 128 })),
  tool_choice: Type.Optional(ToolChoice),
  parallel_tool_calls: Type.Optional(Type.Boolean()),
  reasoning_effort: Type.Optional(Type.String({ minLength: 1 })),
  top_k: Type.Optional(Type.Integer()),
  min_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  repetition_penalty: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  user: Type.Optional(Type.String()),
  metadata: Type.Optional(Metadata),
  modalities: Type.Optional(Type.Array(Type.String(), { maxItems: LENGTHS_MAX.names })),
})
export type ChatBody = Static<typeof ChatBody>

const TokenDetails = Type.Object({
  token: Type.String(),
  logprob: Type.Number(),
  bytes: Type.Union([Type.Array(Type.Integer()), Type.Null()]),
})

const Usage = Type.Object({
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  prompt_tokens_details: Type.Object({
    cached_tokens: Type.Integer(),
    cache_write_tokens: Type.Integer(),
    audio_tokens: Type.Integer(),
  }),
  completion_tokens_details: Type.Object({ reasoning_tokens: Type.Integer(), audio_tokens: Type.Integer() }),
})
export type ChatUsage = Static<typeof Usage>

const TokenLogprob = Type.Object({ ...TokenDetails.properties, top_logprobs: Type.Array(TokenDetails) })
const Logprobs = Type.Union([
  Type.Object({
    content: Type.Array(TokenLogprob),
    refusal: Type.Union([Type.Array(TokenLogprob), Type.Null()]),
  }),
  Type.Null(),
])
const FINISH_REASONS = ['stop', 'length', 'tool_calls', 'content_filter'] as const

export const ChatCompletion = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion'),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      message: Type.Object({
        role: Type.Literal('assistant'),
        content: Type.Union([Type.String(), Type.Null()]),
        refusal: Type.Union([Type.String(), Type.Null()]),
        reasoning_content: Type.Optional(Type.String()),
        reasoning: Type.Optional(Type.String()),
        tool_calls: Type.Optional(Type.Array(ToolCall, { maxItems: LENGTHS_MAX.calls })),
      }),
      logprobs: Logprobs,
      finish_reason: Type.Enum([...FINISH_REASONS]),
    }),
  ),
  usage: Usage,
  service_tier: Type.Literal('default'),
})
export type ChatCompletion = Static<typeof ChatCompletion>

/** A piece of a message. `role` comes with the first; a tool call has `id`, `type` and `name` in its first piece alone. */
const Delta = Type.Object({
  role: Type.Optional(Type.Literal('assistant')),
  content: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  refusal: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  reasoning_content: Type.Optional(Type.String()),
  reasoning: Type.Optional(Type.String()),
  tool_calls: Type.Optional(
    Type.Array(
      Type.Object({
        index: Type.Integer({ minimum: 0 }),
        id: Type.Optional(Type.String()),
        type: Type.Optional(Type.Literal('function')),
        function: Type.Object({ name: Type.Optional(Type.String()), arguments: Type.String() }),
        extra_content: Type.Optional(ExtraContentSchema),
      }),
    ),
  ),
})

const Chunk = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion.chunk'),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      delta: Delta,
      logprobs: Logprobs,
      finish_reason: Type.Union([Type.Enum([...FINISH_REASONS]), Type.Null()]),
    }),
  ),
  usage: Type.Optional(Type.Union([Usage, Type.Null()])),
})

/** The data of one event of a stream: a chunk, or the error that ended it. Source: contract 9.4. */
export const ChatStreamEvent = Type.Union([Chunk, Type.Unsafe({ $ref: '#/components/schemas/Error' })], {
  title: 'ChatStreamEvent',
})
