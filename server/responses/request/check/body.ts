import Type from 'typebox'
import {
  checkMetadata,
  checkModelParameters as checkParameters,
  rejectUnsupportedFields,
  requireSmallSchema,
  schemaOfObject,
} from '../../../chat/check.ts'
import { LENGTHS_MAX } from '../../../chat/schema.ts'
import type { ChatModelConfig } from '../../../config/config.ts'
import { ApiError } from '../../../platform/errors.ts'
import { isRecord } from '../../../platform/json/record.ts'
import { shape } from '../../../platform/schema/validate.ts'
import type { ContextItem } from '../../schema/items.ts'
import { CreateResponse } from '../../schema/response.ts'
import { type EngineSettings, engineSettings, RESPONSE_NAMES } from '../engine-request.ts'
import { asksForCompaction } from '../normalize-input.ts'
import { withAdditionalTools } from '../tools.ts'
import { checkItems } from './input.ts'
import { checkToolChoice, checkTools } from './tools.ts'

/** Members for features that this API does not have: ignoring them would change the meaning of the request. */
const UNSUPPORTED = ['conversation', 'prompt', 'context_management'] as const

/** The body without its items and tools, which are checked one by one, each by its type. */
const Envelope = Type.Object({
  ...CreateResponse.properties,
  input: Type.Optional(Type.Union([Type.String(), Type.Array(Type.Unknown(), { maxItems: LENGTHS_MAX.items })])),
  tools: Type.Optional(Type.Array(Type.Unknown(), { maxItems: 128 })),
  tool_choice: Type.Optional(Type.Union([Type.String({ minLength: 1 }), Type.Object({})])),
})
const checkEnvelope = shape(Envelope, { empty_is_absent: true })

/**
 * Checks everything in the body that does not depend on the model, until `left` aborts. `may_be_empty`: a socket may open a conversation
 * without input. Throws ApiError 400 for the first problem found. Source: contract 10.1.
 */
export async function checkResponseBody(
  unchecked: unknown,
  { may_be_empty = false, left }: { may_be_empty?: boolean; left: AbortSignal },
): Promise<CreateResponse> {
  if (isRecord(unchecked)) rejectUnsupportedFields(unchecked, UNSUPPORTED)
  const envelope = checkEnvelope(unchecked)
  const { input, tools, tool_choice } = envelope
  const isEmptyAllowed = may_be_empty || envelope.previous_response_id !== undefined
  if (!isEmptyAllowed) requireInput(envelope)
  const body = withSchema({
    ...envelope,
    input: Array.isArray(input)
      ? ((await checkItems(input, { may_be_empty: isEmptyAllowed, left })) as CreateResponse['input'])
      : input,
    tools: tools && checkTools(tools),
    tool_choice: tool_choice === undefined ? undefined : checkToolChoice(tool_choice),
  })
  if (body.background && body.store === false) {
    refuse('background', "'background' needs the response to be stored: leave out 'store' or set it to true.")
  }
  if (body.background && asksForCompaction(body.input)) {
    refuse('background', "A compaction is not made in the background: leave out 'background' or set it to false.")
  }
  checkMetadata(body.metadata)
  const format = body.text?.format
  if (format?.type === 'json_schema') requireSmallSchema(format.schema, 'text.format.schema')
  return body
}

/**
 * Checks what depends on the model or on the tools, which may also come with the context. Throws ApiError 400 `unsupported_value`,
 * `model_capability_mismatch`, a limit, or `invalid_value` for a choice of a tool that is missing.
 */
export function checkResponseForModel(
  body: CreateResponse,
  context: readonly ContextItem[],
  model: ChatModelConfig,
): EngineSettings {
  const settings = engineSettings(withAdditionalTools(body, context), model)
  checkParameters(settings.parameters, model, RESPONSE_NAMES)
  return settings
}

/** The body with the older form of a JSON schema as the schema it asks for. */
function withSchema(body: CreateResponse): CreateResponse {
  const schema = schemaOfObject(body.text?.format)
  return schema ? { ...body, text: { ...body.text, format: { type: 'json_schema', ...schema } } } : body
}

/** Only a request that continues a previous response may have no input. */
function requireInput({ input, messages }: { input?: unknown; messages?: unknown }): void {
  if (input === undefined) {
    const hint = messages == null ? '' : " A body with 'messages' belongs to POST /v1/chat/completions."
    const text = `Missing required parameter: 'input'.${hint}`
    throw new ApiError('missing_required_parameter', text, { param: 'input' })
  }
  if (!Array.isArray(input) || input.length > 0) return
  const text =
    "Invalid 'input': array too short. Expected an array with minimum length 1, but got an array with length 0 instead."
  throw new ApiError('array_below_min_length', text, { param: 'input' })
}

function refuse(param: string, message: string): never {
  throw new ApiError('invalid_value', message, { param })
}
