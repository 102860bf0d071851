import { randomBytes } from 'node:crypto'
import { asRecord } from '../../../platform/json/record.ts'
import type { ChatEvent, ExtraContent } from '../contract.ts'

/** The tool calls of one choice. */
export type ToolCalls = {
  /** Reads `tool_calls` of a delta, or of the only message. */
  read(value: unknown, events: ChatEvent[]): void
  /** Reads the list of every call so far, of which the first parts may have been emitted. */
  readWhole(value: readonly unknown[], events: ChatEvent[]): void
  /** Whether a call was begun and never got a name. */
  broken(): boolean
  /** How many calls have been emitted. */
  count(): number
  /** No more will come, and the client is to run them: a call without arguments gets `{}`, without which official clients do not. */
  end(events: ChatEvent[]): void
}

/**
 * Calls are numbered in the order in which their names come, whatever the server's own numbers. An entry belongs to the call of its
 * `index`, else of its `id`, else to the last one; an entry with a name and another id under a used index is a call of its own (Gemini)
 * unless it goes on with arguments that are not complete. Arguments that come before the name wait for it. A missing or repeated id is
 * replaced by one of ours.
 */
export function toolCalls(choice: number): ToolCalls {
  const calls: Call[] = []
  let emitted = 0

  function emit(call: Call, { arguments: piece, extra_content }: Entry, events: ChatEvent[]): void {
    call.written += piece
    if (call.number < 0 && call.name === '') {
      call.extra_content ??= extra_content
      return
    }
    const extra = extra_content ?? (call.number < 0 ? call.extra_content : undefined)
    if (call.number >= 0 && piece === '' && extra === undefined) return
    const event: ChatEvent & { type: 'tool-call-delta' } = {
      ...{ type: 'tool-call-delta', choice, call: call.number, arguments: piece },
      ...(extra !== undefined && { extra_content: extra }),
    }
    if (call.number < 0) {
      call.number = emitted++
      const taken = calls.some((other) => other !== call && other.emitted_id === call.id)
      call.emitted_id = call.id === '' || call.id.length > ID_LENGTH_MAX || taken ? newCallId() : call.id
      Object.assign(event, { call: call.number, id: call.emitted_id, name: call.name, arguments: call.written })
    }
    events.push(event)
  }

  function add(call: Call, entry: Entry, events: ChatEvent[]): void {
    if (call.id === '') call.id = entry.id
    else if (entry.id !== '' && entry.id !== call.id) call.has_new_ids = true
    if (call.name === '') call.name = entry.name
    emit(call, entry, events)
  }

  return {
    read(value, events) {
      for (const item of Array.isArray(value) ? value : [value]) {
        const entry = readEntry(item)
        if (entry !== null) add(callOf(calls, entry), entry, events)
      }
    },
    readWhole(value, events) {
      for (const [position, item] of value.entries()) {
        const entry = readEntry(item)
        if (entry === null) continue
        const known = calls.find(({ id }) => id !== '' && id === entry.id) ?? calls[position] ?? newCall(calls, entry)
        const { written } = known
        const piece = entry.arguments.startsWith(written) ? entry.arguments.slice(written.length) : ''
        add(known, { ...entry, arguments: piece, extra_content: undefined }, events)
      }
    },
    broken: () => calls.some(({ number }) => number < 0),
    count: () => emitted,
    end(events) {
      for (const call of calls) if (call.written.trim() === '') emit(call, NO_ARGUMENTS, events)
    },
  }
}

/**
 * `number` is -1 and `emitted_id` empty until the call has been emitted. `index` is the server's. `written`: all arguments so far.
 * `has_new_ids`: its pieces came under several ids.
 */
type Call = {
  index: number | null
  id: string
  emitted_id: string
  name: string
  written: string
  number: number
  has_new_ids: boolean
  extra_content: ExtraContent | undefined
}
type Entry = {
  index: number | null
  id: string
  name: string
  arguments: string
  extra_content: ExtraContent | undefined
}

const ID_LENGTH_MAX = 256
const NO_ARGUMENTS: Entry = { index: null, id: '', name: '', arguments: '{}', extra_content: undefined }

function readEntry(item: unknown): Entry | null {
  const entry = asRecord(item)
  if (entry === null) return null
  const called = asRecord(entry.function)
  const piece = called?.arguments
  const read = {
    index: Number.isSafeInteger(entry.index) ? (entry.index as number) : null,
    id: typeof entry.id === 'string' ? entry.id : '',
    name: typeof called?.name === 'string' ? called.name : '',
    arguments: typeof piece === 'string' ? piece : asRecord(piece) === null ? '' : JSON.stringify(piece),
    extra_content: entry.extra_content == null ? undefined : (asRecord(entry.extra_content) ?? undefined),
  }
  const isEmpty = read.id === '' && read.name === '' && read.arguments === '' && read.extra_content === undefined
  return isEmpty ? null : read
}

function callOf(calls: Call[], entry: Entry): Call {
  const found = findCall(calls, entry)
  return found !== undefined && !isAnother(found, entry) ? found : newCall(calls, entry)
}

function newCall(calls: Call[], { index }: Entry): Call {
  const call = { index, id: '', emitted_id: '', name: '', written: '', number: -1, has_new_ids: false }
  const added: Call = { ...call, extra_content: undefined }
  calls.push(added)
  return added
}

function findCall(calls: Call[], { index, id, name }: Entry): Call | undefined {
  if (index !== null) return calls.findLast((call) => call.index === index)
  if (id !== '') return calls.findLast((call) => call.id === id)
  return name === '' ? calls.at(-1) : undefined
}

/** Older vLLM sends a new id with every piece, but the name only once; others repeat both. */
function isAnother(call: Call, { id, name }: Entry): boolean {
  if (name === '' || call.name === '' || id === '' || call.id === '' || id === call.id) return false
  return name !== call.name || (!call.has_new_ids && isJson(call.written))
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function newCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`
}
