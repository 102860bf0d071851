import type { ResponseEvent } from '../call.ts'
import type { OutputItem } from '../schema/items.ts'
import type { ResponseObject } from '../schema/response.ts'

/** The end of every stream, good or bad. */
export const DONE = 'data: [DONE]\n\n'

/** One event as it goes over HTTP. */
export function frameOf({ type, data }: ResponseEvent): string {
  return `event: ${type}\ndata: ${data}\n\n`
}

/** An event whose member is the whole response. */
export function responseEvent(type: string, sequence_number: number, response: ResponseObject): ResponseEvent {
  return eventOf(type, sequence_number, { response })
}

/** The two events of a failure. Source: contract 10.9. */
export function failureEvents(sequence_number: number, response: ResponseObject): ResponseEvent[] {
  const { type, code, message, param } = response.error!
  const error = { error: { type, code, message, param }, code, message, param }
  return [eventOf('error', sequence_number, error), responseEvent('response.failed', sequence_number + 1, response)]
}

/** The last event of a response that has ended. */
export function endEvent(sequence_number: number, response: ResponseObject): ResponseEvent {
  const { status } = response
  const type = status === 'completed' || status === 'failed' ? status : 'incomplete'
  return responseEvent(`response.${type}`, sequence_number, response)
}

/** A stored event, which is JSON that begins with its type. */
export function readEvent(sequence_number: number, data: string): ResponseEvent {
  return { type: /^\{"type":"([^"]*)"/.exec(data)![1]!, sequence_number, data }
}

/**
 * What a response that was not made in the background would be told as: every item whole, since nothing of its pieces is known any
 * more. Source: contract 11.2.
 */
export function rebuiltEvents(response: ResponseObject): ResponseEvent[] {
  const begun: ResponseObject = {
    ...response,
    ...{ status: 'in_progress', output: [], usage: null, error: null, incomplete_details: null, completed_at: null },
  }
  const items = response.output.flatMap((item, output_index) => [
    { type: 'response.output_item.added', members: { output_index, item: emptied(item) } },
    { type: 'response.output_item.done', members: { output_index, item } },
  ])
  return [
    responseEvent('response.created', 0, begun),
    ...items.map(({ type, members }, index) => eventOf(type, index + 1, members)),
    endEvent(items.length + 1, response),
  ]
}

/** Every item that was told of, in order: whole when its end was told, else as it began, incomplete. */
export function itemsTold(events: Iterable<string>): OutputItem[] {
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
