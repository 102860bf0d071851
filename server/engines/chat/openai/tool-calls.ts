import { randomBytes } from 'node:crypto'
import { asRecord } from '../../../platform/json/record.ts'
import type { ChatEvent, ExtraContent } from '../contract.ts'
import { type JsonEnd, jsonEnd, readJson } from './read/json-end.ts'

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
  /** How many calls have been emitted. */
  count(): number
  /** No more will come, and the client is to run them: a call without arguments gets `{}`, without which official clients do not. */
  end(events: ChatEvent[]): void
}

/**
 * Calls are numbered in the order in which their names come, whatever the server's own numbers. An entry is looked for under its `index`,
 * else its `id`, else it belongs to the last call; `isAnother` says when it is a call of its own there. Arguments that come before the name
 * wait for it. A missing or repeated id is replaced by one of ours; an entry without a name and arguments is none.
 */
export function toolCalls(choice: number): ToolCalls {
  const calls: Call[] = []
  const last: LastCalls = { of_index: new Map(), of_id: new Map(), added: undefined }
  const emitted_ids = new Set<string>()
  let emitted = 0
  let reads = 0

  function emit(call: Call, { arguments: piece, extra_content }: Entry, events: ChatEvent[]): void {
    call.written += piece
    call.has_arguments ||= piece.trim() !== ''
    readJson(call.json, piece)
    const extra = extra_content ?? (call.number < 0 ? call.extra_content : undefined)
    call.extra_content ??= extra
    if (call.number < 0 && call.name === '') return
    if (call.number >= 0 && piece === '' && extra === undefined) return
    const event: ChatEvent & { type: 'tool-call-delta' } = {
      ...{ type: 'tool-call-delta', choice, call: call.number, arguments: piece },
      ...(extra !== undefined && { extra_content: extra }),
    }
    if (call.number < 0) {
      call.number = emitted++
      const isUsable = call.id !== '' && call.id.length <= ID_LENGTH_MAX && !emitted_ids.has(call.id)
      const id = isUsable ? call.id : newCallId()
      emitted_ids.add(id)
      Object.assign(event, { call: call.number, id, name: call.name, arguments: call.written })
    }
    events.push(event)
  }

  function add(call: Call, entry: Entry, events: ChatEvent[]): void {
    call.reads = reads
    if (call.id === '' && entry.id !== '') {
      call.id = entry.id
      last.of_id.set(call.id, call)
    } else if (isOther(call.id, entry.id, '')) {
      call.has_new_ids = true
    }
    if (call.name === '') call.name = entry.name
    emit(call, entry, events)
  }

  function newCall({ index }: Entry): Call {
    const call = emptyCall(index, reads)
    calls.push(call)
    last.added = call
    if (index !== null) last.of_index.set(index, call)
    return call
  }

  function readPiece(entry: Entry, events: ChatEvent[]): void {
    const found = findCall(last, entry)
    if (found === undefined || isAnother(found, entry, reads)) {
      const { id, name } = entry.name === '' ? (found?.repeated ?? entry) : entry
      add(newCall(entry), { ...entry, id, name }, events)
    } else if (entry.name !== '' && found.name !== '' && found.json.ended) {
      found.repeated = entry
      add(found, { ...entry, arguments: '' }, events)
    } else {
      add(found, entry, events)
    }
  }

  return {
    read(value, events) {
      reads += 1
      for (const item of Array.isArray(value) ? value : [value]) {
        const entry = readEntry(item)
        if (entry !== null) readPiece(entry, events)
      }
    },
    readWhole(value, events) {
      const entries = value.map(readEntry)
      const ids = new Set(entries.map((entry) => entry?.id))
      const listed = new Set<Call>()
      for (const [position, entry] of entries.entries()) {
        if (entry === null) continue
        const there = calls[position]
        const isThere = there !== undefined && (isSame(there, entry) || (!ids.has(there.id) && isAgain(there, entry)))
        const of_id = isThere && there.id === entry.id ? there : last.of_id.get(entry.id)
        const known = of_id !== undefined && !listed.has(of_id) ? of_id : isThere ? there : newCall(entry)
        listed.add(known)
        const { written } = known
        const piece = entry.arguments.startsWith(written) ? entry.arguments.slice(written.length) : ''
        const extra_content = known.extra_content === undefined ? entry.extra_content : undefined
        add(known, { ...entry, arguments: piece, extra_content }, events)
      }
    },
    areIn(value) {
      if (calls.length === 0 || value.length < calls.length) return false
      return calls.every((call, position) => {
        const entry = readEntry(value[position])
        return entry !== null && isSame(call, entry) && entry.arguments.startsWith(call.written)
      })
    },
    broken: () => calls.some(({ number, has_arguments }) => number < 0 && has_arguments),
    count: () => emitted,
    end(events) {
      for (const call of calls) if (!call.has_arguments) emit(call, NO_ARGUMENTS, events)
    },
  }
}

/**
 * `number` is -1 until the call has been emitted. `index` and `id` are the server's. `written`: all arguments so far, and `json` whether
 * they are complete. `reads`: which delta its last piece was in. `has_new_ids`: its pieces came under several ids. `repeated`: the entry
 * that named it again after its arguments, which is the head of another call if arguments follow.
 */
type Call = {
  index: number | null
  id: string
  name: string
  written: string
  has_arguments: boolean
  json: JsonEnd
  number: number
  reads: number
  has_new_ids: boolean
  repeated: Entry | null
  extra_content: ExtraContent | undefined
}
/** The last call of each index and id, and the last of all. */
type LastCalls = { of_index: Map<number, Call>; of_id: Map<string, Call>; added: Call | undefined }
type Entry = {
  index: number | null
  id: string
  name: string
  arguments: string
  extra_content: ExtraContent | undefined
}

const ID_LENGTH_MAX = 256
const NO_ARGUMENTS: Entry = { index: null, id: '', name: '', arguments: '{}', extra_content: undefined }

function emptyCall(index: number | null, reads: number): Call {
  return {
    ...{ index, id: '', name: '', written: '', number: -1, reads, json: jsonEnd() },
    ...{ has_arguments: false, has_new_ids: false, repeated: null, extra_content: undefined },
  }
}

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

function findCall(last: LastCalls, { index, id, name }: Entry): Call | undefined {
  const of_id = id === '' ? undefined : last.of_id.get(id)
  if (index !== null) return of_id?.index === index ? of_id : last.of_index.get(index)
  if (of_id !== undefined || last.added === undefined) return of_id
  return name === '' || (name === last.added.name && isOpen(last.added)) ? last.added : undefined
}

/** Whether its arguments go on. */
function isOpen({ has_arguments, json }: Call): boolean {
  return has_arguments && !json.ended
}

/** Whether an entry in the place of a call may be that call. */
function isSame(call: Call, { index, id, name }: Entry): boolean {
  return !isOther(call.index, index, null) && !isOther(call.id, id, '') && !isOther(call.name, name, '')
}

/** Whether an entry is the call under a new id: some servers make one for the message as a whole. */
function isAgain(call: Call, entry: Entry): boolean {
  return isSame(call, { ...entry, id: '' }) && entry.arguments.startsWith(call.written)
}

/**
 * Whether an entry in the place of a call is another one: by its name, by a name again in the same delta or after complete arguments.
 * Servers repeat the name with every piece, some under new ids; older vLLM sends a new id with every piece, but the name only once.
 */
function isAnother(call: Call, { id, name, arguments: piece }: Entry, reads: number): boolean {
  const isBlank = piece.trim() === ''
  if (name === '') return call.repeated !== null && !isBlank
  if (call.name === '' || isOpen(call)) return isOther(call.name, name, '')
  if (name !== call.name || call.reads === reads) return true
  const isNewId = isOther(call.id, id, '')
  if (!call.has_arguments) return isNewId && isBlank
  if (isBlank) return isNewId && !call.has_new_ids
  return !(id !== '' && id === call.id && id !== name && piece === call.written)
}

function isOther(own: unknown, given: unknown, none: unknown): boolean {
  return own !== none && given !== none && own !== given
}

function newCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`
}
