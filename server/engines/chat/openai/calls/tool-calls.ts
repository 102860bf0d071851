import type { ChatEvent } from '../../contract.ts'
import { isNoArguments } from './arguments.ts'
import { type Entry, readEntry } from './entry.ts'
import {
  add,
  addCall,
  type CallList,
  drop,
  emptyList,
  endCalls,
  hasLonger,
  isOther,
  type StreamedToolCall,
} from './list.ts'

/** The tool calls of one choice. */
export type ToolCalls = {
  /** Reads `tool_calls` of a delta, or of the only message. */
  read(value: unknown, events: ChatEvent[]): void
  /** Reads the list of every call so far, of which the first parts may have been emitted. */
  readWhole(value: readonly unknown[], events: ChatEvent[]): void
  /** Whether a list has every call so far, each with its arguments from the start. False while there is none. */
  areIn(value: readonly unknown[]): boolean
  /** Whether a call has arguments and never got a name. */
  broken(): boolean
  /** Whether the arguments of a call are JSON that has not ended. */
  cut(): boolean
  /** How many calls have a name. */
  count(): number
  /**
   * No more will come. `run`: the client is to run them, so a call without arguments gets `{}`, without which official clients do not.
   */
  end(events: ChatEvent[], options: { run: boolean }): void
}

/**
 * Calls are numbered in the order in which their names come, whatever the server's own numbers. An entry is looked for under its `index`,
 * else its `id`, else it belongs to the last call; `isAnother` says when it is a call of its own there. Arguments that come before the name
 * wait for it. A missing or repeated id is replaced by one of ours; an entry without a name and arguments is none.
 *
 * The arguments of a call end with their JSON. What follows is another call of the same name, unless it is the same JSON again. `tools`:
 * the names that calls may have, by which a name that comes in pieces is known.
 */
export function toolCalls(choice: number, tools: ReadonlySet<string>): ToolCalls {
  const list = emptyList(choice, tools)
  return {
    read(value, events) {
      list.reads += 1
      for (const item of Array.isArray(value) ? value : [value]) {
        const entry = readEntry(item)
        if (entry !== null) readPiece(list, entry, events)
      }
    },
    readWhole: (value, events) => readWhole(list, value, events),
    areIn(value) {
      if (list.calls.length === 0 || value.length < list.calls.length) return false
      return list.calls.every((call, position) => {
        const entry = readEntry(value[position])
        return entry !== null && isSame(call, entry) && entry.arguments.startsWith(call.written)
      })
    },
    broken: () => list.calls.some(({ name, has_arguments }) => name === '' && has_arguments),
    cut: () => list.calls.some(({ json }) => json.depth > 0),
    count: () => list.named,
    end: (events, options) => endCalls(list, options, events),
  }
}

function readPiece(list: CallList, entry: Entry, events: ChatEvent[]): void {
  const found = findCall(list, entry)
  if (found !== undefined && (joinName(found, entry, list.tools) || !isAnother(found, entry, list.reads)))
    add(list, found, entry, events)
  else addCall(list, entry, twinOf(list, found, entry), events)
}

function readWhole(list: CallList, value: readonly unknown[], events: ChatEvent[]): void {
  for (const call of list.held) drop(list, call, call.twin!, events)
  const entries = value.map(readEntry)
  const ids = new Set(entries.map((entry) => entry?.id))
  const listed = new Set<StreamedToolCall>()
  for (const [position, entry] of entries.entries()) {
    if (entry === null) continue
    const there = list.calls[position]
    const isThere = there !== undefined && (isSame(there, entry) || (!ids.has(there.id) && isAgain(there, entry)))
    const of_id = isThere && there.id === entry.id ? there : list.of_id.get(entry.id)
    const known = of_id !== undefined && !listed.has(of_id) ? of_id : isThere ? there : null
    if (known === null) {
      listed.add(addCall(list, entry, null, events))
      continue
    }
    listed.add(known)
    const { written } = known
    const piece = entry.arguments.startsWith(written) ? entry.arguments.slice(written.length) : ''
    const extra_content = known.extra_content === undefined ? entry.extra_content : undefined
    add(list, known, { ...entry, arguments: piece, extra_content }, events)
  }
}

function findCall({ of_index, of_id, added }: CallList, { index, id, name }: Entry): StreamedToolCall | undefined {
  const call = id === '' ? undefined : of_id.get(id)
  if (index !== null) return call?.index === index ? call : of_index.get(index)
  if (call !== undefined || added === undefined) return call
  return name === '' || (name === added.name && isOpen(added)) ? added : undefined
}

/** Whether its arguments go on. */
function isOpen({ has_arguments, json }: StreamedToolCall): boolean {
  return has_arguments && !json.ended
}

/** Whether an entry in the place of a call may be that call. */
function isSame(call: StreamedToolCall, { index, id, name }: Entry): boolean {
  return !isOther(call.index, index, null) && !isOther(call.id, id, '') && !isOther(call.name, name, '')
}

/** Whether an entry is the call under a new id: some servers make one for the message as a whole. */
function isAgain(call: StreamedToolCall, entry: Entry): boolean {
  return isSame(call, { ...entry, id: '' }) && entry.arguments.startsWith(call.written)
}

/**
 * Whether an entry in the place of a call is another one: by its name, by a name again in the same delta or after complete arguments.
 * Servers repeat the name with every piece, some under new ids; older vLLM sends a new id with every piece, but the name only once.
 */
function isAnother(call: StreamedToolCall, { id, name, arguments: piece }: Entry, reads: number): boolean {
  if (name === '') return false
  if (call.name === '' || isOpen(call)) return isOther(call.name, name, '')
  if (name !== call.name || call.reads === reads) return true
  if (!call.has_arguments) return isOther(call.id, id, '') && piece.trim() === ''
  return !(id !== '' && id === call.id && !call.flows && isNoArguments(call.pending))
}

/** The call that a new one may repeat: it has the name, and the id or none. */
function twinOf(
  { of_id, reads }: CallList,
  found: StreamedToolCall | undefined,
  { id, name }: Entry,
): StreamedToolCall | null {
  const named = id === '' || id === name ? undefined : of_id.get(id)
  const call = named?.name === name ? named : found
  if (call === undefined || name === '' || call.name !== name) return null
  const isRepeated = call === named || (call.reads !== reads && (!isOther(call.id, id, '') || call.has_new_ids))
  return isRepeated ? (call.twin ?? call) : null
}

/** Adds the next part to the name of a call, and says whether an entry has it: the name so far is none, and the part is no tool. */
function joinName(call: StreamedToolCall, { id, name }: Entry, tools: ReadonlySet<string>): boolean {
  if (call.number >= 0 || call.name === '' || call.has_arguments || isOther(call.id, id, '')) return false
  const joined = call.name + name
  if (name === '' || tools.has(name) || !(tools.has(joined) || hasLonger(tools, joined))) return false
  call.name = joined
  return true
}
