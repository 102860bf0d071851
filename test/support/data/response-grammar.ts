import assert from 'node:assert/strict'
import { CALL_ID_MAX } from '../../../server/engines/chat/call-id.ts'

/**
 * Checks event streams of contract 11.1, written from the contract alone. It reads a stream as an SDK does, item by item, and throws at
 * the first event that a client could not process.
 */

// biome-ignore lint/suspicious/noExplicitAny: events of many shapes, looked into member by member.
export type Wire = Record<string, any>

/** Members of each event beside `type` and `sequence_number`. */
const MEMBERS: Readonly<Record<string, string>> = {
  'response.created': 'response',
  'response.queued': 'response',
  'response.in_progress': 'response',
  'response.completed': 'response',
  'response.incomplete': 'response',
  'response.failed': 'response',
  'response.output_item.added': 'output_index item',
  'response.output_item.done': 'output_index item',
  'response.content_part.added': 'item_id output_index content_index part',
  'response.content_part.done': 'item_id output_index content_index part',
  'response.output_text.delta': 'item_id output_index content_index delta logprobs',
  'response.output_text.done': 'item_id output_index content_index text logprobs',
  'response.refusal.delta': 'item_id output_index content_index delta',
  'response.refusal.done': 'item_id output_index content_index refusal',
  'response.function_call_arguments.delta': 'item_id output_index delta',
  'response.function_call_arguments.done': 'item_id output_index arguments',
  'response.custom_tool_call_input.delta': 'item_id output_index delta',
  'response.custom_tool_call_input.done': 'item_id output_index input',
  'response.reasoning_summary_part.added': 'item_id output_index summary_index part',
  'response.reasoning_summary_part.done': 'item_id output_index summary_index part',
  'response.reasoning_summary_text.delta': 'item_id output_index summary_index delta',
  'response.reasoning_summary_text.done': 'item_id output_index summary_index text',
  'response.reasoning_text.delta': 'item_id output_index content_index delta',
  'response.reasoning_text.done': 'item_id output_index content_index text',
  error: 'error code message param',
}

/** Members that every response has. */
export const RESPONSE_MEMBERS =
  'background completed_at created_at error frequency_penalty id incomplete_details instructions max_output_tokens max_tool_calls metadata model object output parallel_tool_calls presence_penalty previous_response_id prompt_cache_key reasoning safety_identifier service_tier status store temperature text tool_choice tools top_logprobs top_p truncation usage user'.split(
    ' ',
  )

/** Members that may change between two snapshots of one response. */
const CHANGING = new Set(['status', 'output', 'usage', 'error', 'incomplete_details', 'completed_at'])

/** `socket`: no `error` event precedes `response.failed`. */
export type Transport = { socket?: boolean }

/** Checks a complete stream and returns the response that a client builds from its deltas. */
export function acceptStream(events: readonly Wire[], { socket = false }: Transport = {}): Wire {
  for (const [i, event] of events.entries()) acceptMembers(event, i)
  const { started, at } = acceptStart(events)
  const output: Wire[] = []
  let next = at
  while (events[next]?.type === 'response.output_item.added') next = acceptItem(events, next, output)
  if (events[next]?.type === 'error') {
    assert.equal(socket, false, 'a socket sends one terminal message')
    acceptError(events[next]!)
    assert.equal(events[next + 1]?.type, 'response.failed')
    assert.deepEqual(events[next + 1]!.response.error, events[next]!.error)
    next += 1
  } else if (!socket) assert.notEqual(events[next]?.type, 'response.failed', 'failed without an error event')
  const last = events[next]
  assert.ok(last, 'the stream has no end')
  assert.equal(next, events.length - 1, `${events[next + 1]?.type} after ${last.type}`)
  acceptEnd(last, started, output)
  return { ...last.response, output }
}

function acceptMembers(event: Wire, index: number): void {
  const members = MEMBERS[event.type]
  assert.ok(members !== undefined, `no client knows ${event.type}`)
  assert.deepEqual(Object.keys(event).sort(), [...members.split(' '), 'sequence_number', 'type'].sort(), event.type)
  assert.equal(event.sequence_number, index)
}

function acceptStart(events: readonly Wire[]): { started: Wire; at: number } {
  const created = events[0]
  assert.equal(created?.type, 'response.created')
  const { response } = created!
  acceptResponse(response)
  assert.match(response.id, /^resp_[0-9a-f]{48}$/)
  const queued = events[1]?.type === 'response.queued'
  assert.equal(response.status, queued ? 'queued' : 'in_progress')
  assert.equal(events[queued ? 2 : 1]?.type, 'response.in_progress')
  for (const { response: snapshot } of events.slice(1, queued ? 3 : 2)) {
    acceptSame(snapshot, response)
    assert.deepEqual([snapshot.output, snapshot.usage, snapshot.error], [[], null, null])
  }
  return { started: response, at: queued ? 3 : 2 }
}

function acceptResponse(response: Wire): void {
  assert.deepEqual(Object.keys(response).sort(), RESPONSE_MEMBERS)
  assert.equal(response.object, 'response')
  for (const name of ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'top_logprobs']) {
    assert.equal(typeof response[name], 'number', name)
  }
}

function acceptSame(response: Wire, started: Wire): void {
  acceptResponse(response)
  for (const name of RESPONSE_MEMBERS) if (!CHANGING.has(name)) assert.deepEqual(response[name], started[name], name)
}

/** Reads one item, complete or as far as it came before a failure, and adds it to `output` as built from its deltas. */
function acceptItem(events: readonly Wire[], at: number, output: Wire[]): number {
  const added = events[at]!
  const item = structuredClone(added.item)
  assert.equal(added.output_index, output.length)
  assert.equal(item.status, 'in_progress')
  acceptIdentity(item, output)
  output.push(item)
  const read = { events, item, place: { item_id: item.id, output_index: added.output_index } }
  const next = ITEMS[item.type]!(read, at + 1)
  const done = events[next]
  if (done?.type !== 'response.output_item.done') {
    assert.ok(done?.type === 'error' || done?.type === 'response.failed', `${done?.type} within an open ${item.type}`)
    item.status = 'incomplete'
    return next
  }
  assert.ok(['completed', 'incomplete'].includes(done.item.status))
  item.status = done.item.status
  // Known only at the end.
  for (const name of ['encrypted_content', 'extra_content'])
    if (done.item[name] !== undefined) item[name] = done.item[name]
  assert.deepEqual(done.item, item)
  return next + 1
}

function acceptIdentity(item: Wire, output: readonly Wire[]): void {
  const prefix = { message: 'msg_', function_call: 'fc_', custom_tool_call: 'ctc_', reasoning: 'rs_' }[
    item.type as string
  ]
  assert.ok(prefix && item.id.startsWith(prefix), `${item.type} called ${item.id}`)
  assert.ok(!output.some(({ id }) => id === item.id), `${item.id} twice`)
  if (item.call_id === undefined) return
  assert.ok(item.call_id.length >= 1 && item.call_id.length <= CALL_ID_MAX, item.call_id)
  assert.ok(!output.some(({ call_id }) => call_id === item.call_id), `${item.call_id} twice`)
}

type Reading = { events: readonly Wire[]; item: Wire; place: { item_id: string; output_index: number } }

/** Each reads what belongs to its item and returns where it ends. */
const ITEMS: Readonly<Record<string, (read: Reading, at: number) => number>> = {
  message(read, at) {
    const { events, item } = read
    assert.deepEqual(
      { ...item, id: 0 },
      { id: 0, type: 'message', status: 'in_progress', role: 'assistant', content: [] },
    )
    while (events[at]?.type === 'response.content_part.added') at = acceptPart(read, at)
    return at
  },
  function_call(read, at) {
    assert.equal(read.item.arguments, '')
    return acceptDeltas(read, at, { event: 'response.function_call_arguments', into: read.item, member: 'arguments' })
  },
  custom_tool_call(read, at) {
    assert.equal(read.item.input, '')
    return acceptDeltas(read, at, { event: 'response.custom_tool_call_input', into: read.item, member: 'input' })
  },
  reasoning(read, at) {
    assert.deepEqual(read.item.summary, [])
    assert.ok(!('encrypted_content' in read.item) && !('content' in read.item))
    return acceptReasoning(read, at)
  },
}

function acceptPart(read: Reading, at: number): number {
  const { events, item, place } = read
  const added = events[at]!
  const index = { content_index: item.content.length }
  const part = structuredClone(added.part)
  const isText = part.type === 'output_text'
  const empty = isText
    ? { type: 'output_text', text: '', annotations: [], logprobs: [] }
    : { type: 'refusal', refusal: '' }
  assert.deepEqual(part, empty)
  acceptPlace(added, { ...place, ...index })
  item.content.push(part)
  const event = isText ? 'response.output_text' : 'response.refusal'
  const end = acceptDeltas(read, at + 1, { event, into: part, member: isText ? 'text' : 'refusal', index })
  const done = events[end]
  if (done?.type !== 'response.content_part.done') return end
  acceptPlace(done, { ...place, ...index })
  assert.deepEqual(done.part, part)
  return end + 1
}

type Deltas = { event: string; into: Wire; member: string; index?: Wire }

/** Deltas, then the complete text. */
function acceptDeltas({ events, place }: Reading, at: number, deltas: Deltas): number {
  const { event, into, member, index = {} } = deltas
  for (; events[at]?.type === `${event}.delta`; at++) {
    const { delta, logprobs = [] } = events[at]!
    acceptPlace(events[at]!, { ...place, ...index })
    assert.ok(delta.isWellFormed(), 'half a character')
    assert.ok(delta !== '' || logprobs.length > 0, 'an empty delta')
    into[member] += delta
    for (const each of logprobs) into.logprobs.push(each)
  }
  const done = events[at]
  if (done?.type !== `${event}.done`) return at
  acceptPlace(done, { ...place, ...index })
  assert.equal(done[member], into[member])
  if ('logprobs' in into) assert.deepEqual(done.logprobs, into.logprobs)
  return at + 1
}

/** A summary, the raw text, both at once or neither: opened together, closed one after the other. */
function acceptReasoning({ events, item, place }: Reading, at: number): number {
  const summary: Wire = { type: 'summary_text', text: '' }
  const raw: Wire = { type: 'reasoning_text', text: '' }
  const expect = (type: string, members: Wire): boolean => {
    if (events[at]?.type !== type) return false
    const { type: _, sequence_number, ...rest } = events[at++]!
    assert.deepEqual(rest, { ...place, ...members })
    return true
  }
  const summarized = expect('response.reasoning_summary_part.added', { summary_index: 0, part: summary })
  const hasRaw = expect('response.content_part.added', { content_index: 0, part: raw })
  if (summarized) item.summary.push(summary)
  if (hasRaw) item.content = [raw]
  for (; /^response\.reasoning(_summary)?_text\.delta$/.test(events[at]?.type); at++) {
    const { type, delta } = events[at]!
    const part = type === 'response.reasoning_text.delta' ? raw : summary
    acceptPlace(events[at]!, { ...place, ...(part === raw ? { content_index: 0 } : { summary_index: 0 }) })
    assert.ok(part === raw ? hasRaw : summarized, `${type} without its part`)
    assert.ok(delta !== '' && delta.isWellFormed())
    part.text += delta
  }
  if (summarized && expect('response.reasoning_summary_text.done', { summary_index: 0, text: summary.text }))
    assert.ok(expect('response.reasoning_summary_part.done', { summary_index: 0, part: summary }))
  if (hasRaw && expect('response.reasoning_text.done', { content_index: 0, text: raw.text }))
    assert.ok(expect('response.content_part.done', { content_index: 0, part: raw }))
  return at
}

function acceptPlace(event: Wire, place: Wire): void {
  for (const [name, value] of Object.entries(place)) assert.equal(event[name], value, `${name} of ${event.type}`)
}

function acceptError(event: Wire): void {
  const { type, code, message, param } = event.error
  assert.deepEqual(Object.keys(event.error).sort(), ['code', 'message', 'param', 'type'])
  assert.deepEqual([typeof type, typeof code, typeof message], ['string', 'string', 'string'])
  assert.deepEqual([event.code, event.message, event.param], [code, message, param])
}

function acceptEnd({ type, response }: Wire, started: Wire, output: Wire[]): void {
  acceptSame(response, started)
  const last = output.at(-1)
  // Reasoning that a failure cut off is encrypted without an event of its own.
  if (type === 'response.failed' && last?.type === 'reasoning' && response.output.at(-1)?.encrypted_content)
    last.encrypted_content = response.output.at(-1).encrypted_content
  assert.deepEqual(response.output, output)
  const { status, incomplete_details, error, usage, completed_at } = response
  if (type === 'response.completed') {
    assert.deepEqual([status, incomplete_details, error], ['completed', null, null])
    assert.ok(Number.isInteger(completed_at))
    assert.ok(output.every((item) => item.status === 'completed'))
    assert.ok(
      output.some((item) => item.type !== 'reasoning'),
      'an answer has content',
    )
  } else if (type === 'response.incomplete') {
    const cancelled = status === 'cancelled'
    assert.ok(cancelled || status === 'incomplete')
    const reasons = cancelled ? ['cancelled'] : ['max_output_tokens', 'content_filter']
    assert.ok(reasons.includes(incomplete_details.reason))
    assert.deepEqual([error, completed_at], [null, null])
  } else {
    assert.deepEqual([type, status, incomplete_details, completed_at], ['response.failed', 'failed', null, null])
  }
  if (type !== 'response.failed' && status !== 'cancelled')
    assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens)
}
