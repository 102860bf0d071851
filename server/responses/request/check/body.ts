import Type from 'typebox'
import { mismatch, requireSmallSchema } from '../../../chat/check.ts'
import { LENGTHS_MAX } from '../../../chat/schema.ts'
import type { ChatModelConfig } from '../../../config/config.ts'
import { ApiError } from '../../../platform/errors.ts'
import { isRecord } from '../../../platform/json/record.ts'
import { supportedValues } from '../../../platform/schema/explain.ts'
import { shape } from '../../../platform/schema/validate.ts'
import { countCodePoints } from '../../../platform/text.ts'
import { CreateResponse } from '../../schema/response.ts'
import { forwardTools } from '../tools.ts'
import { checkItems } from './input.ts'
import { checkToolChoice, checkTools } from './tools.ts'

/** Members for features that this API does not have: ignoring them would change the meaning of the request. */
const UNSUPPORTED = ['conversation', 'prompt', 'context_management'] as const

/** The body without its items and tools, which are checked one by one, each by its type. */
const Envelope = Type.Object({
  ...CreateResponse.properties,
  input: Type.Optional(Type.Union([Type.String(), Type.Array(Type.Unknown(), { maxItems: LENGTHS_MAX.items })])),
  tools: Type.Optional(Type.Array(Type.Unknown(), { maxItems: 128 })),
  tool_choice: Type.Optional(Type.Unknown()),
})
const checkEnvelope = shape(Envelope)

/**
 * Checks everything in the body that does not depend on the model. `may_be_empty`: a socket may open a conversation without input. Throws
 * ApiError 400 for the first problem found. Source: contract 10.1.
 */
export function checkBody(unchecked: unknown, { may_be_empty = false } = {}): CreateResponse {
  if (isRecord(unchecked)) refuseUnsupported(unchecked)
  const envelope = checkEnvelope(unchecked)
  const { input, tools, tool_choice } = envelope
  if (!may_be_empty) requireInput(envelope)
  const body: CreateResponse = {
    ...envelope,
    input: Array.isArray(input) ? (checkItems(input) as CreateResponse['input']) : input,
    tools: tools && checkTools(tools),
    tool_choice: tool_choice === undefined ? undefined : checkToolChoice(tool_choice),
  }
  forwardTools(body)
  if (body.background && body.store === false) {
    refuse('background', "'background' needs the response to be stored: leave out 'store' or set it to true.")
  }
  for (const key of Object.keys(body.metadata ?? {})) {
    const length = countCodePoints(key)
    if (length < 1 || length > 64) refuse('metadata', "Invalid 'metadata': its keys have 1 to 64 characters.")
  }
  const format = body.text?.format
  if (format?.type === 'json_schema') requireSmallSchema(format.schema, 'text.format.schema')
  return body
}

/** Checks what depends on the model. Throws ApiError 400 `unsupported_value`, `model_capability_mismatch` or a limit. */
export function checkForModel(body: CreateResponse, model: ChatModelConfig): void {
  const needs = (capability: ChatModelConfig['capabilities'][number], param: string, what: string) => {
    if (!model.capabilities.includes(capability)) throw mismatch(model.id, param, what)
  }
  if (body.tools?.length && forwardTools(body).tools.length > 0) needs('tools', 'tools', 'tools')
  if (body.text?.format?.type === 'json_schema') needs('structured_outputs', 'text.format', 'a JSON schema')
  if (body.include?.includes('message.output_text.logprobs')) needs('logprobs', 'include', 'log probabilities')
  requireEffort(body, model)
  const max = model.max_output_tokens
  const asked = body.max_output_tokens
  if (max === null || asked === undefined || asked <= max) return
  const text = `Invalid 'max_output_tokens': integer above maximum value. Expected a value <= ${max}, but got ${asked} instead.`
  throw new ApiError('integer_above_max_value', text, { param: 'max_output_tokens' })
}

function refuseUnsupported(body: Record<string, unknown>): void {
  for (const name of UNSUPPORTED) {
    if (body[name] == null) continue
    throw new ApiError('unsupported_parameter', `Unsupported parameter: '${name}' is not supported.`, { param: name })
  }
}

/** Only a request that continues a previous response may have no input. */
function requireInput({ input, previous_response_id }: { input?: unknown; previous_response_id?: string }): void {
  if (previous_response_id !== undefined) return
  if (input === undefined) {
    throw new ApiError('missing_required_parameter', "Missing required parameter: 'input'.", { param: 'input' })
  }
  if (!Array.isArray(input) || input.length > 0) return
  const text =
    "Invalid 'input': array too short. Expected an array with minimum length 1, but got an array with length 0 instead."
  throw new ApiError('array_below_min_length', text, { param: 'input' })
}

/** Clients send an effort to every model; models that do not reason ignore it. */
function requireEffort({ reasoning }: CreateResponse, { reasoning_efforts: efforts }: ChatModelConfig): void {
  const effort = reasoning?.effort
  if (effort === undefined || efforts.length === 0 || efforts.includes(effort)) return
  const text = `Unsupported value: 'reasoning.effort' does not support '${effort.slice(0, 64)}' with this model. ${supportedValues(efforts)}`
  throw new ApiError('unsupported_value', text, { param: 'reasoning.effort' })
}

function refuse(param: string, message: string): never {
  throw new ApiError('invalid_value', message, { param })
}
