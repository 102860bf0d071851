import { randomBytes } from 'node:crypto'
import { CALL_ID_MAX } from '../../call-id.ts'
import type { ChatEvent, ExtraContent } from '../../contract.ts'
import { beginsJson } from '../read/json-end.ts'
import { type CallArguments, emptyArguments, isNoArguments, isSameJson, isUndecided, write } from './arguments.ts'
import type { Entry } from './entry.ts'

/**
 * `number` is -1 until the call has been emitted. `index` and `id` are the server's. `reads`: which delta its last piece was in.
 * `has_new_ids`: its pieces came under several ids. `twin`: the call that it may repeat, while that is not known.
 */
export type StreamedToolCall = CallArguments & {
  index: number | null
  id: string
  name: string
  number: number
  reads: number
  has_new_ids: boolean
  twin: StreamedToolCall | null
  extra_content: ExtraContent | undefined
}

/**
 * The calls of one choice. `tools`: the names that calls may have. `held`: calls that have a twin, of which nothing is emitted until their
 * arguments are complete. `of_index`, `of_id`, `added`: the last call of each index and id, and the last of all. `named`: how many calls have
 * a name. `reads`: how many deltas have been read.
 */
export type CallList = {
  readonly choice: number
  readonly tools: ReadonlySet<string>
  readonly calls: StreamedToolCall[]
  readonly held: Set<StreamedToolCall>
  readonly of_index: Map<number, StreamedToolCall>
  readonly of_id: Map<string, StreamedToolCall>
  added: StreamedToolCall | undefined
  readonly emitted_ids: Set<string>
  named: number
  emitted: number
  reads: number
}

export function emptyList(choice: number, tools: ReadonlySet<string>): CallList {
  return {
    choice,
    tools,
    calls: [],
    held: new Set(),
    of_index: new Map(),
    of_id: new Map(),
    added: undefined,
    emitted_ids: new Set(),
    named: 0,
    emitted: 0,
    reads: 0,
  }
}

/** Begins a call with an entry. */
export function addCall(
  list: CallList,
  entry: Entry,
  twin: StreamedToolCall | null,
  events: ChatEvent[],
): StreamedToolCall {
  if (list.added !== undefined) emit(list, list.added, undefined, events, { is_named: true })
  const call = newCall(list, entry.index, twin)
  add(list, call, entry, events)
  return call
}

/** Adds an entry to a call, and what follows the end of its arguments to calls of the same name. */
export function add(list: CallList, call: StreamedToolCall, entry: Entry, events: ChatEvent[]): void {
  let rest = grow(list, call, entry, events)
  for (let before = call; rest !== ''; ) {
    const next = newCall(list, before.index, before.twin ?? before)
    rest = grow(list, next, { ...NOTHING, name: before.name, arguments: rest }, events)
    if (next.twin === null) before = next
  }
}

/** A held call is no call: what comes in its place belongs to its twin. */
export function drop(list: CallList, call: StreamedToolCall, twin: StreamedToolCall, events: ChatEvent[]): void {
  list.held.delete(call)
  if (list.added === call) list.added = twin
  if (call.index !== null) list.of_index.set(call.index, twin)
  if (call.id !== '') list.of_id.set(call.id, twin)
  if (twin.extra_content !== undefined || call.extra_content === undefined) return
  twin.extra_content = call.extra_content
  emit(list, twin, call.extra_content, events)
}

/** No more will come. */
export function endCalls(list: CallList, { run }: { run: boolean }, events: ChatEvent[]): void {
  for (const call of list.held) {
    const isOwn = beginsJson(call.written) && !call.twin!.written.startsWith(call.written)
    if (isOwn) release(list, call)
  }
  for (const call of list.calls) {
    if (!call.flows && (call.has_arguments ? isNoArguments(call.pending) : run)) call.pending = '{}'
    call.flows = call.pending !== ''
    emit(list, call, undefined, events, { is_named: true })
  }
}

/** Whether a name may be the beginning of that of a tool. */
export function hasLonger(tools: ReadonlySet<string>, name: string): boolean {
  for (const tool of tools) if (tool.length > name.length && tool.startsWith(name)) return true
  return false
}

/** Whether both are given and differ. */
export function isOther(own: unknown, given: unknown, none: unknown): boolean {
  return own !== none && given !== none && own !== given
}

const NOTHING: Entry = { index: null, id: '', name: '', arguments: '', extra_content: undefined }

function newCall(list: CallList, index: number | null, twin: StreamedToolCall | null): StreamedToolCall {
  const call: StreamedToolCall = {
    ...emptyArguments(),
    index,
    twin,
    reads: list.reads,
    id: '',
    name: '',
    number: -1,
    has_new_ids: false,
    extra_content: undefined,
  }
  if (twin === null) list.calls.push(call)
  else list.held.add(call)
  list.added = call
  if (index !== null) list.of_index.set(index, call)
  return call
}

/** Returns what follows the end of the arguments and begins as JSON. */
function grow(list: CallList, call: StreamedToolCall, entry: Entry, events: ChatEvent[]): string {
  const { id, name, extra_content } = entry
  call.reads = list.reads
  if (call.id === '' && id !== '') {
    call.id = id
    list.of_id.set(id, call)
  } else if (isOther(call.id, id, '')) {
    call.has_new_ids = true
  }
  if (call.name === '' && name !== '') {
    call.name = name
    if (call.twin === null) list.named += 1
  }
  call.extra_content ??= extra_content
  const rest = write(call, entry.arguments)
  if (call.twin !== null && call.json.ended) {
    if (isSameJson(call.written, call.twin.written)) drop(list, call, call.twin, events)
    else release(list, call)
  }
  emit(list, call, extra_content, events)
  return rest
}

/** A held call is a call of its own. */
function release(list: CallList, call: StreamedToolCall): void {
  list.held.delete(call)
  call.twin = null
  list.calls.push(call)
  list.named += 1
}

/** Emits what is new of a call. `is_named`: its name is complete. */
function emit(
  list: CallList,
  call: StreamedToolCall,
  extra: ExtraContent | undefined,
  events: ChatEvent[],
  { is_named } = { is_named: false },
): void {
  const isHead = call.number < 0
  if (call.name === '' || call.twin !== null) return
  if (isHead && !is_named && !call.has_arguments && hasLonger(list.tools, call.name)) return
  call.flows ||= !isUndecided(call.pending)
  const piece = call.flows ? call.pending : ''
  if (call.flows) call.pending = ''
  const extra_content = isHead ? call.extra_content : extra
  if (!isHead && piece === '' && extra_content === undefined) return
  const event: ChatEvent & { type: 'tool-call-delta' } = {
    type: 'tool-call-delta',
    choice: list.choice,
    call: call.number,
    arguments: piece,
    ...(extra_content !== undefined && { extra_content }),
  }
  if (isHead) {
    call.number = list.emitted++
    const isUsable = call.id !== '' && call.id.length <= CALL_ID_MAX && !list.emitted_ids.has(call.id)
    const id = isUsable ? call.id : newCallId()
    list.emitted_ids.add(id)
    Object.assign(event, { call: call.number, id, name: call.name })
  }
  events.push(event)
}

function newCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`
}
