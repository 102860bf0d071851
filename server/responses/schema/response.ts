import Type, { type Static } from 'typebox'
import { LENGTHS_MAX, Metadata } from '../../chat/schema.ts'
import { AdditionalTools, Compaction, InputItem, MessageItem, OutputItem } from './items.ts'
import { EchoedTool, SentTool, SentToolChoice, TEXTS_MAX, TOOLS_MAX, ToolChoiceView } from './tools.ts'

/** Wire shapes of `/v1/responses`. Members that are not named here are accepted and ignored, never forwarded. */
const JsonSchemaObject = Type.Unsafe<Record<string, unknown>>(Type.Object({}, { additionalProperties: true }))
const Name = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })
const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])

export const TextFormat = Type.Union([
  Type.Object({ type: Type.Literal('text') }),
  Type.Object({ type: Type.Literal('json_object'), schema: Type.Optional(JsonSchemaObject) }),
  Type.Object({
    type: Type.Literal('json_schema'),
    name: Name,
    description: Type.Optional(Type.String({ maxLength: TEXTS_MAX.description })),
    schema: JsonSchemaObject,
    strict: Type.Optional(Type.Boolean()),
  }),
])
export type TextFormat = Static<typeof TextFormat>

const Verbosity = Type.Enum(['low', 'medium', 'high'])
const Summary = Type.Enum(['auto', 'concise', 'detailed'])

/** The first two have an effect; the others ask for data that this service never has. */
export const INCLUDES = [
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
  'message.input_image.image_url',
  'web_search_call.action.sources',
  'web_search_call.results',
  'file_search_call.results',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
] as const
const Include = Type.Array(Type.Enum([...INCLUDES]), { maxItems: LENGTHS_MAX.names })
export type Include = Static<typeof Include>

const Penalty = Type.Number({ minimum: -2, maximum: 2 })

export const CreateResponse = Type.Object({
  model: Type.String({ minLength: 1, maxLength: 256 }),
  input: Type.Optional(Type.Union([Type.String(), Type.Array(InputItem, { maxItems: LENGTHS_MAX.items })])),
  instructions: Type.Optional(Type.String({ maxLength: TEXTS_MAX.instructions })),
  previous_response_id: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  stream: Type.Optional(Type.Boolean()),
  stream_options: Type.Optional(Type.Object({ include_obfuscation: Type.Optional(Type.Boolean()) })),
  store: Type.Optional(Type.Boolean()),
  background: Type.Optional(Type.Boolean()),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  frequency_penalty: Type.Optional(Penalty),
  presence_penalty: Type.Optional(Penalty),
  top_logprobs: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
  max_output_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
  max_tool_calls: Type.Optional(Type.Integer({ minimum: 1 })),
  seed: Type.Optional(Type.Integer()),
  stop: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 4 })])),
  top_k: Type.Optional(Type.Integer()),
  repetition_penalty: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  tools: Type.Optional(Type.Array(SentTool, { maxItems: TOOLS_MAX })),
  tool_choice: Type.Optional(SentToolChoice),
  parallel_tool_calls: Type.Optional(Type.Boolean()),
  reasoning: Type.Optional(
    Type.Object({
      effort: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      summary: Type.Optional(Summary),
    }),
  ),
  text: Type.Optional(Type.Object({ format: Type.Optional(TextFormat), verbosity: Type.Optional(Verbosity) })),
  truncation: Type.Optional(Type.Enum(['auto', 'disabled'])),
  include: Type.Optional(Include),
  metadata: Type.Optional(Metadata),
  service_tier: Type.Optional(Type.String({ maxLength: 64 })),
  prompt_cache_key: Type.Optional(Type.String({ maxLength: 1024 })),
  prompt_cache_retention: Type.Optional(Type.String({ maxLength: 64 })),
  safety_identifier: Type.Optional(Type.String({ maxLength: 1024 })),
  user: Type.Optional(Type.String({ maxLength: 1024 })),
})
export type CreateResponse = Static<typeof CreateResponse>

/** Body of `POST /v1/responses/compact`. */
export const CompactResponse = Type.Pick(CreateResponse, [
  'model',
  'input',
  'previous_response_id',
  'instructions',
  'prompt_cache_key',
])

export const ResponseUsage = Type.Object({
  input_tokens: Type.Integer(),
  input_tokens_details: Type.Object({ cached_tokens: Type.Integer(), cache_write_tokens: Type.Integer() }),
  output_tokens: Type.Integer(),
  output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
  total_tokens: Type.Integer(),
})
export type ResponseUsage = Static<typeof ResponseUsage>

const ResponseError = Type.Object({
  type: Type.String(),
  code: Type.String(),
  message: Type.String(),
  param: nullable(Type.String()),
})

/** The format as asked for, everything that was left out as null. */
const TextFormatView = Type.Union([
  Type.Object({ type: Type.Literal('text') }),
  Type.Object({ type: Type.Literal('json_object') }),
  Type.Object({
    type: Type.Literal('json_schema'),
    name: Type.String(),
    description: nullable(Type.String()),
    schema: JsonSchemaObject,
    strict: Type.Boolean(),
  }),
])

export const RESPONSE_STATUSES = ['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'] as const
export type ResponseStatus = (typeof RESPONSE_STATUSES)[number]

/** Every member is always present. Source: contract 10.7. */
export const ResponseObject = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  created_at: Type.Integer(),
  completed_at: nullable(Type.Integer()),
  status: Type.Enum([...RESPONSE_STATUSES]),
  incomplete_details: nullable(
    Type.Object({ reason: Type.Enum(['max_output_tokens', 'content_filter', 'cancelled']) }),
  ),
  error: nullable(ResponseError),
  model: Type.String(),
  previous_response_id: nullable(Type.String()),
  instructions: nullable(Type.String()),
  output: Type.Array(OutputItem),
  tools: Type.Array(EchoedTool),
  tool_choice: ToolChoiceView,
  parallel_tool_calls: Type.Boolean(),
  truncation: Type.Enum(['auto', 'disabled']),
  text: Type.Object({ format: TextFormatView, verbosity: Type.Optional(Verbosity) }),
  reasoning: Type.Object({ effort: nullable(Type.String()), summary: nullable(Summary) }),
  temperature: Type.Number(),
  top_p: Type.Number(),
  presence_penalty: Type.Number(),
  frequency_penalty: Type.Number(),
  top_logprobs: Type.Integer(),
  max_output_tokens: nullable(Type.Integer()),
  max_tool_calls: nullable(Type.Integer()),
  store: Type.Boolean(),
  background: Type.Boolean(),
  service_tier: Type.Literal('default'),
  metadata: Metadata,
  safety_identifier: nullable(Type.String()),
  prompt_cache_key: nullable(Type.String()),
  user: nullable(Type.String()),
  usage: nullable(ResponseUsage),
})
export type ResponseObject = Static<typeof ResponseObject>

/** Messages of the user, then the one summary. */
export const CompactedResponse = Type.Object({
  id: Type.String(),
  object: Type.Literal('response.compaction'),
  created_at: Type.Integer(),
  output: Type.Array(Type.Union([MessageItem, AdditionalTools, Compaction])),
  usage: ResponseUsage,
})
export type CompactedResponse = Static<typeof CompactedResponse>
