import type { ChatModelConfig } from '../config/config.ts'
import type { Capability } from '../config/models.ts'
import { ApiError } from '../platform/errors.ts'
import { isRecord } from '../platform/json/record.ts'
import { isLongJson } from '../platform/json/write.ts'
import { supportedValues } from '../platform/schema/explain.ts'
import { shape } from '../platform/schema/validate.ts'
import { countCodePoints } from '../platform/text.ts'
import { type FieldNames, fieldName, type ModelParameters } from './request.ts'
import { ChatBody } from './schema.ts'

/** Members for features that this API does not have: ignoring them would change the meaning of the request. */
const UNSUPPORTED = ['audio', 'functions', 'function_call', 'web_search_options'] as const

/** Limits of the JSON text and the nesting of a client's schema, which is forwarded as it is and never compiled. */
const SCHEMA_BYTES_MAX = 65_536
const SCHEMA_DEPTH_MAX = 32
/** For a quick estimate before the schema is serialized: it counts up to eight times the size of short values. */
const ESTIMATE_MAX = 8 * SCHEMA_BYTES_MAX

const checkShape = shape(ChatBody, { empty_is_absent: true })

/** Checks everything in the body that does not depend on the model. Throws ApiError 400. Source: contract 9.1. */
export function checkChatBody(unchecked: unknown): ChatBody {
  if (isRecord(unchecked)) rejectUnsupportedFields(unchecked, UNSUPPORTED)
  const body = withSchema(checkShape(withOneLimit(unchecked)))
  if (body.stream_options && !body.stream) {
    refuse('stream_options', "'stream_options' is only allowed when 'stream' is true.")
  }
  if (body.top_logprobs && !body.logprobs) {
    refuse('top_logprobs', "'top_logprobs' is only allowed when 'logprobs' is true.")
  }
  if (body.modalities?.some((modality) => modality !== 'text')) {
    throw new ApiError(
      'unsupported_parameter',
      "Unsupported parameter: 'modalities' with anything but 'text' is not supported.",
      {
        param: 'modalities',
      },
    )
  }
  for (const id of Object.keys(body.logit_bias ?? {})) {
    if (!/^\d{1,9}$/.test(id)) refuse(`logit_bias.${id.slice(0, 64)}`, "Invalid 'logit_bias': its keys are token ids.")
  }
  checkMetadata(body.metadata)
  if (body.response_format?.type === 'json_schema') {
    requireSmallSchema(body.response_format.json_schema.schema, 'response_format.json_schema.schema')
  }
  checkTools(body)
  return body
}

/**
 * Checks what depends on the model, for chat completions and responses. `names`: what the route calls the parameters. Throws ApiError 400
 * `unsupported_value`, `model_capability_mismatch` or a limit.
 */
export function checkModelParameters(parameters: ModelParameters, model: ChatModelConfig, names: FieldNames): void {
  const param = (field: keyof ModelParameters) => fieldName(field, names)
  const needs = (capability: Capability, field: keyof ModelParameters, what: string) => {
    if (!model.capabilities.includes(capability)) throw mismatch(model.id, param(field), what)
  }
  if (parameters.tools) needs('tools', 'tools', 'tools')
  if (parameters.response_format?.type === 'json_schema')
    needs('structured_outputs', 'response_format', 'a JSON schema')
  if (parameters.logprobs) needs('logprobs', 'logprobs', 'log probabilities')
  const effort = parameters.reasoning_effort
  if (effort !== undefined && !model.reasoning_efforts.includes(effort)) {
    const efforts = model.reasoning_efforts
    const name = param('reasoning_effort')
    const remedy = efforts.length > 0 ? supportedValues(efforts) : 'Leave it out: this model does not reason.'
    const text = `Unsupported value: '${name}' does not support '${effort.slice(0, 64)}' with this model. ${remedy}`
    throw new ApiError('unsupported_value', text, { param: name })
  }
  if (model.n === 1 && parameters.n > 1) {
    const text = `Unsupported value: 'n' does not support ${parameters.n} with this model. Supported values are: 1.`
    throw new ApiError('unsupported_value', text, { param: 'n' })
  }
  const max = model.max_output_tokens
  const asked = parameters.max_tokens
  if (max === null || asked === undefined || asked <= max) return
  const name = param('max_tokens')
  const text = `Invalid '${name}': integer above maximum value. Expected a value <= ${max}, but got ${asked} instead.`
  throw new ApiError('integer_above_max_value', text, { param: name })
}

/** The error for content that needs a capability the model lacks. */
export function mismatch(model: string, param: string, what: string): ApiError {
  return new ApiError(
    'model_capability_mismatch',
    `The model '${model}' does not take ${what}. GET /v1/models lists what each model takes.`,
    {
      param,
    },
  )
}

/** Throws ApiError `unsupported_parameter` for a member of the body that has one of these names. */
export function rejectUnsupportedFields(body: Record<string, unknown>, names: readonly string[]): void {
  for (const name of names) {
    if (body[name] == null) continue
    throw new ApiError('unsupported_parameter', `Unsupported parameter: '${name}' is not supported.`, { param: name })
  }
}

/** Throws ApiError `invalid_value` for a key that is too short or too long. Source: contract 10.2. */
export function checkMetadata(metadata: object = {}): void {
  for (const key of Object.keys(metadata)) {
    const length = countCodePoints(key)
    if (length < 1 || length > 64) refuse('metadata', "Invalid 'metadata': its keys have 1 to 64 characters.")
  }
}

/**
 * The older form of a JSON schema, `{type: "json_object", schema}`, as the schema it asks for; null for any other format. Servers that do not
 * know this form ignore the schema. Source: https://docs.anyscale.com/endpoints/text-generation/json-mode
 */
export function schemaOfObject(format: { type: string; schema?: JsonSchema } | undefined): NamedSchema | null {
  if (format?.type !== 'json_object' || format.schema === undefined) return null
  return { name: 'response', schema: format.schema }
}

type JsonSchema = Record<string, unknown>
type NamedSchema = { name: string; schema: JsonSchema }

/**
 * The older name of the limit is not even checked beside the newer one, which wins. -1 is no limit, as clients of LM Studio and LangChain have
 * it. Source: https://reference.langchain.com/javascript/langchain-openai/AzureChatOpenAIFields/maxCompletionTokens
 */
function withOneLimit(body: unknown): unknown {
  if (!isRecord(body)) return body
  const limits = [body.max_tokens, body.max_completion_tokens]
  if (!limits.includes(-1) && limits.some((limit) => limit == null)) return body
  const { max_tokens, max_completion_tokens, ...rest } = body
  if (max_completion_tokens != null && max_completion_tokens !== -1) return { ...rest, max_completion_tokens }
  return max_tokens == null || max_tokens === -1 ? rest : { ...rest, max_tokens }
}

function withSchema(body: ChatBody): ChatBody {
  const json_schema = schemaOfObject(body.response_format)
  return json_schema ? { ...body, response_format: { type: 'json_schema', json_schema } } : body
}

function checkTools({ tools = [], tool_choice }: ChatBody): void {
  const names = new Set<string>()
  for (const [i, tool] of tools.entries()) {
    const { name, parameters } = tool.function
    if (names.has(name))
      refuse(`tools[${i}].function.name`, `The tool name '${name}' is used twice. Give each tool its own name.`)
    names.add(name)
    requireSmallSchema(parameters, `tools[${i}].function.parameters`)
  }
  if (tool_choice === undefined || tool_choice === 'none' || tool_choice === 'auto') return
  if (tool_choice === 'required') {
    if (names.size === 0) refuse('tool_choice', "'tool_choice' is 'required', but there are no 'tools'.")
    return
  }
  const wanted =
    tool_choice.type === 'function'
      ? [{ name: tool_choice.function.name, param: 'tool_choice.function.name' }]
      : tool_choice.allowed_tools.tools.map((tool, i) => ({
          name: tool.function.name,
          param: `tool_choice.allowed_tools.tools[${i}].function.name`,
        }))
  for (const { name, param } of wanted) {
    if (!names.has(name)) refuse(param, `The tool '${name.slice(0, 64)}' is not among 'tools'.`)
  }
}

/** An object in the place of a text as JSON. Throws ApiError `invalid_value` for a long one, which would block other requests. */
export function jsonTextOf(value: string | object, param: string): string {
  if (typeof value === 'string') return value
  if (isLongJson(value, OBJECT_LENGTH_MAX)) {
    refuse(param, `Invalid '${param}': an object of more than ${OBJECT_LENGTH_MAX} characters. Send it as a string.`)
  }
  return JSON.stringify(value)
}

const OBJECT_LENGTH_MAX = 1_000_000

/** Throws ApiError `invalid_value` for a JSON Schema over the limits of size or nesting. */
export function requireSmallSchema(schema: object | undefined, param: string): void {
  if (schema === undefined) return
  if (isLongJson(schema, ESTIMATE_MAX)) refuse(param, `Invalid '${param}': larger than ${SCHEMA_BYTES_MAX} bytes.`)
  if (depthOf(schema) > SCHEMA_DEPTH_MAX)
    refuse(param, `Invalid '${param}': nested deeper than ${SCHEMA_DEPTH_MAX} levels.`)
  if (Buffer.byteLength(JSON.stringify(schema)) > SCHEMA_BYTES_MAX) {
    refuse(param, `Invalid '${param}': larger than ${SCHEMA_BYTES_MAX} bytes.`)
  }
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let deepest = 0
  for (const member of Object.values(value)) deepest = Math.max(deepest, depthOf(member))
  return deepest + 1
}

function refuse(param: string, message: string): never {
  throw new ApiError('invalid_value', message, { param })
}
