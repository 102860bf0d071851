import { chatUsage } from '../../chat/chunks.ts'
import type { TokenUsage } from '../../engines/chat/contract.ts'
import { type ApiError, errorBody } from '../../platform/errors.ts'
import { storableText } from '../../platform/text.ts'
import type { OutputItem } from '../schema/items.ts'
import type { ResponseObject, ResponseUsage } from '../schema/response.ts'

/**
 * One event of contract 11.1. `data` is its JSON on one line, including `type` and `sequence_number`: it is serialized once, and every
 * transport and the store use the same text.
 */
export type ResponseEvent = { type: string; sequence_number: number; data: string }

/** One event as a server-sent event. */
export function frameOf({ type, data }: ResponseEvent): string {
  return `event: ${type}\ndata: ${data}\n\n`
}

/** An event that contains the response object. */
export function responseEvent(type: string, sequence_number: number, response: ResponseObject): ResponseEvent {
  return eventOf(type, sequence_number, { response })
}

/** The last event of a response, by its status. */
export function endEvent(sequence_number: number, response: ResponseObject): ResponseEvent {
  const { status } = response
  const type = status === 'completed' || status === 'failed' ? status : 'incomplete'
  return responseEvent(`response.${type}`, sequence_number, response)
}

/**
 * Makes `response` failed, whatever its status was, and returns its last events: `error`, which sockets do not send, and
 * `response.failed`. Its output stays. Source: contract 10.9.
 */
export function failResponse(
  response: ResponseObject,
  failure: ApiError,
  { sequence_number, error_event = true }: { sequence_number: number; error_event?: boolean },
): ResponseEvent[] {
  const { type, code, message, param } = errorBody(failure).error
  // A message may quote the request, cut within a character, and is stored.
  const error = { type, code, message: storableText(message), param }
  Object.assign(response, { ...ENDED_EARLY, status: 'failed', error })
  if (!error_event) return [endEvent(sequence_number, response)]
  // Some clients read the nested form, others the flat one.
  const first = eventOf('error', sequence_number, { error, code, message, param })
  return [first, endEvent(sequence_number + 1, response)]
}

const ENDED_EARLY = { incomplete_details: null, completed_at: null, usage: null } as const

/** Token usage as a response shows it: the same numbers as in a chat completion, by other names. */
export function responseUsage(usage: TokenUsage): ResponseUsage {
  const { prompt_tokens, completion_tokens, total_tokens, ...details } = chatUsage(usage)
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: {
      cached_tokens: details.prompt_tokens_details.cached_tokens,
      cache_write_tokens: details.prompt_tokens_details.cache_write_tokens,
    },
    output_tokens: completion_tokens,
    output_tokens_details: { reasoning_tokens: details.completion_tokens_details.reasoning_tokens },
    total_tokens,
  }
}

/** A stored event: its JSON begins with its type. */
export function readEvent(sequence_number: number, data: string): ResponseEvent {
  return { type: /^\{"type":"([^"]*)"/.exec(data)![1]!, sequence_number, data }
}

/**
 * The events of a response that was not made in the background, after the number `after`: its deltas were not stored, so each item is added
 * and done at once. Each is written when it is asked for. Source: contract 11.2.
 */
export function* rebuiltEvents(response: ResponseObject, after: number): Generator<[ResponseEvent]> {
  const created: ResponseObject = { ...response, ...ENDED_EARLY, status: 'in_progress', output: [], error: null }
  const last = response.output.length * 2 + 1
  for (let number = after + 1; number <= last; number++) {
    const output_index = (number - 1) >> 1
    const item = response.output[output_index]!
    if (number === 0) yield [responseEvent('response.created', number, created)]
    else if (number === last) yield [endEvent(number, response)]
    else if (number % 2 === 1)
      yield [eventOf('response.output_item.added', number, { output_index, item: emptied(item) })]
    else yield [eventOf('response.output_item.done', number, { output_index, item })]
  }
}

/** The output items that these events have added, in order: as done, or as added and `incomplete` when they were not done. */
export function itemsOfEvents(events: Iterable<string>): OutputItem[] {
  const items: OutputItem[] = []
  for (const data of events) {
    if (!data.startsWith('{"type":"response.output_item.')) continue
    const { type, output_index, item } = JSON.parse(data) as { type: string; output_index: number; item: OutputItem }
    items[output_index] =
      type === 'response.output_item.done' || item.type === 'compaction' ? item : { ...item, status: 'incomplete' }
  }
  return items
}

function emptied(item: OutputItem): OutputItem {
  switch (item.type) {
    case 'message':
      return { ...item, status: 'in_progress', content: [] }
    case 'function_call':
      return { ...item, status: 'in_progress', arguments: '' }
    case 'custom_tool_call':
      return { ...item, status: 'in_progress', input: '' }
    case 'reasoning':
      return { id: item.id, type: item.type, status: 'in_progress', summary: [] }
    case 'compaction':
      return item
  }
}

function eventOf(type: string, sequence_number: number, members: object): ResponseEvent {
  return { type, sequence_number, data: JSON.stringify({ type, sequence_number, ...members }) }
}
