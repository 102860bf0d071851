import Type from 'typebox'
import { TEXT_REPAIR } from '../../chat/schema.ts'
import { ApiError, errorBody } from '../../platform/errors.ts'
import type { Lease } from '../../platform/http/body/byte-budget.ts'
import { type ParseOptions, parseJson } from '../../platform/json/parse.ts'
import { isRecord } from '../../platform/json/record.ts'
import { supportedValues } from '../../platform/schema/explain.ts'
import { shape } from '../../platform/schema/validate.ts'
import { hasUnstorableText } from '../../platform/text.ts'
import type { ResponseEvent } from '../events/event.ts'

/** A request for a run. `body` is that of POST /v1/responses, its shape not yet checked. */
export type RunMessage = { body: Record<string, unknown>; generate: boolean; stream_id: string | undefined }

const STREAM_ID_LENGTH_MAX = 256
/** Messages up to this size are parsed synchronously for their `stream_id`. */
export const SMALL_MESSAGE_BYTES = 64 * 1024

/**
 * Parses a message with the limits of request bodies; null is a binary one. `lease` counts its values. Throws ApiError, and the reason of `signal` when it
 * aborts.
 * Source: contract 12.
 */
export async function readSocketMessage(
  text: Buffer | null,
  { lease, signal }: { lease?: Lease; signal?: AbortSignal } = {},
): Promise<RunMessage> {
  if (text === null) throw new ApiError('invalid_json', 'This message was binary. Send JSON in text frames.')
  const value = await parseMessage(text, { ...(lease && { room: lease.addValues }), ...(signal && { signal }) })
  if (!isRecord(value)) throw UNPARSABLE
  return { ...readRun(value), stream_id: readableStreamId(value) }
}

/** Longest `response.cancel` that is read. */
const CANCEL_BYTES_MAX = 4096

/** A `response.cancel`, which does not wait for its turn: the response it names, if any. Null for any other message. */
export function readCancelMessage(text: Buffer | null): { response_id: string | undefined } | null {
  if (text === null || text.length > CANCEL_BYTES_MAX || !text.includes('response.cancel')) return null
  try {
    const value: unknown = JSON.parse(text.toString('utf8'))
    if (!isRecord(value) || value.type !== 'response.cancel') return null
    return { response_id: typeof value.response_id === 'string' ? value.response_id : undefined }
  } catch {
    return null
  }
}

/** The `stream_id` of a message that is refused, so that the client can match the error to its turn. */
export async function streamIdOf(text: Buffer | null): Promise<string | undefined> {
  if (text === null) return undefined
  try {
    const value = text.length > SMALL_MESSAGE_BYTES ? await parseJson(text) : JSON.parse(text.toString('utf8'))
    return isRecord(value) ? readableStreamId(value) : undefined
  } catch {
    return undefined
  }
}

/** An error instead of a run. */
export function errorEvent(error: ApiError, stream_id: string | undefined): string {
  // As in the Open Responses specification; over HTTP it is 404.
  const status = error.code === 'previous_response_not_found' ? 400 : error.status
  return JSON.stringify({ type: 'error', status, ...errorBody(error), stream_id })
}

/** The event with the `stream_id` of its turn. */
export function eventText({ data }: ResponseEvent, stream_id: string | undefined): string {
  return stream_id === undefined ? data : `${data.slice(0, -1)},"stream_id":${JSON.stringify(stream_id)}}`
}

const UNPARSABLE = new ApiError('invalid_json', 'We could not parse the message. Send one JSON object in a text frame.')

async function parseMessage(text: Buffer, options: ParseOptions): Promise<unknown> {
  try {
    return await parseJson(text, { ...options, repair: TEXT_REPAIR })
  } catch (error) {
    throw error instanceof ApiError && error.code === 'invalid_json' ? UNPARSABLE : error
  }
}

function readableStreamId({ stream_id }: Record<string, unknown>): string | undefined {
  return typeof stream_id === 'string' && stream_id.length <= STREAM_ID_LENGTH_MAX && !hasUnstorableText(stream_id)
    ? stream_id
    : undefined
}

function readRun(message: Record<string, unknown>): Omit<RunMessage, 'stream_id'> {
  const { type, stream_id: _, generate: outer, response, ...flat } = checkEnvelope(message)
  if (type !== 'response.create') throw unknownEvent(type)
  const { generate = outer ?? true, ...asked }: { generate?: boolean; [member: string]: unknown } = response ?? flat
  if (asked.background === true) {
    const text = "Unsupported parameter: 'background' is not supported over WebSocket. Send it to POST /v1/responses."
    throw new ApiError('unsupported_parameter', text, { param: 'background' })
  }
  // Every run is streamed, whatever the client says.
  delete asked.stream
  delete asked.stream_options
  return { body: asked, generate }
}

const Generate = Type.Optional(Type.Boolean())

/** The members of the body are in the message itself or in its `response`. */
const checkEnvelope = shape(
  Type.Object({
    type: Type.String(),
    stream_id: Type.Optional(Type.String({ maxLength: STREAM_ID_LENGTH_MAX })),
    generate: Generate,
    response: Type.Optional(Type.Object({ generate: Generate })),
  }),
)

function unknownEvent(type: string): ApiError {
  const text = `Unknown event: '${type.slice(0, 64)}'. ${supportedValues(['response.create', 'response.cancel'])}`
  return new ApiError('unknown_event', text, { param: 'type' })
}
