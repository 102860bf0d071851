import Type from 'typebox'
import { ApiError, errorBody } from '../platform/errors.ts'
import { supportedValues } from '../platform/explain.ts'
import { hasUnstorableText } from '../platform/text.ts'
import { requireSafeJson, shape } from '../platform/validate.ts'
import type { ResponseEvent } from './run.ts'

/** One message of a client: a turn it wants, or what is wrong with it. Whatever it is, it is answered in its turn. */
export type SocketMessage = {
  /** Chosen by the client; copied onto every event of the turn. */
  stream_id: string | undefined
  bytes: number
  wanted: WantedTurn | ApiError
}

/** `body`: of POST /v1/responses, its shape not yet checked. */
export type WantedTurn = { body: Record<string, unknown>; generate: boolean }

const STREAM_ID_LENGTH_MAX = 256

/** Reads a message; null is a binary one. Source: contract 12. */
export function readMessage(text: Buffer | null): SocketMessage {
  const message: SocketMessage = { stream_id: undefined, bytes: text?.length ?? 0, wanted: UNREAD }
  try {
    const value = parseMessage(text)
    message.stream_id = readableStreamId(value)
    requireSafeJson(value)
    message.wanted = readTurn(value)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    message.wanted = error
  }
  return message
}

/** An error before `response.created`, or in place of a turn. */
export function errorEvent(error: ApiError, stream_id: string | undefined): string {
  // As the Open Responses text has it; on HTTP it is 404.
  const status = error.code === 'previous_response_not_found' ? 400 : error.status
  return JSON.stringify({ type: 'error', status, ...errorBody(error), stream_id })
}

/** The event as it goes to the client that named its turn. */
export function eventText({ data }: ResponseEvent, stream_id: string | undefined): string {
  return stream_id === undefined ? data : `${data.slice(0, -1)},"stream_id":${JSON.stringify(stream_id)}}`
}

const UNREAD = new ApiError('invalid_json', 'We could not parse the message. Send one JSON object in a text frame.')

function parseMessage(text: Buffer | null): Record<string, unknown> {
  if (text === null) {
    throw new ApiError('invalid_json', 'This message was binary. Send JSON in text frames.')
  }
  let value: unknown
  try {
    value = JSON.parse(text.toString('utf8'))
  } catch {
    throw UNREAD
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw UNREAD
  return value as Record<string, unknown>
}

/** Also that of a message that is refused for something else, so that the refusal finds its turn. */
function readableStreamId({ stream_id }: Record<string, unknown>): string | undefined {
  return typeof stream_id === 'string' && stream_id.length <= STREAM_ID_LENGTH_MAX && !hasUnstorableText(stream_id)
    ? stream_id
    : undefined
}

function readTurn(message: Record<string, unknown>): WantedTurn {
  const { type, stream_id: _, generate: outer, response, ...flat } = checkEnvelope(message)
  if (type !== 'response.create') throw unknownEvent(type)
  const { generate = outer ?? true, ...asked }: { generate?: boolean; [member: string]: unknown } = response ?? flat
  if (asked.background === true) {
    const text = "Unsupported parameter: 'background' is not supported over WebSocket. Send it to POST /v1/responses."
    throw new ApiError('unsupported_parameter', text, { param: 'background' })
  }
  // Every turn is streamed, whatever the client says.
  delete asked.stream
  delete asked.stream_options
  return { body: asked, generate }
}

const Generate = Type.Optional(Type.Boolean())

/** The body of a response stands in the message itself, or in its `response`. */
const checkEnvelope = shape(
  Type.Object({
    type: Type.String(),
    stream_id: Type.Optional(Type.String({ maxLength: STREAM_ID_LENGTH_MAX })),
    generate: Generate,
    response: Type.Optional(Type.Object({ generate: Generate })),
  }),
)

function unknownEvent(type: string): ApiError {
  const text = `Unknown event: '${type.slice(0, 64)}'. ${supportedValues(['response.create'])}`
  return new ApiError('unknown_event', text, { param: 'type' })
}
