import { randomBytes } from 'node:crypto'
import { asRecord } from '../../../platform/json/record.ts'
import type { ChatEvent } from '../contract.ts'

/** The tool calls of one choice. */
export type ToolCalls = {
  /** Reads `tool_calls` of a message or of one of its deltas. */
  read(value: unknown, events: ChatEvent[]): void
  /** Whether a call was begun and never got a name. */
  broken(): boolean
  /** How many calls have been emitted. */
  count(): number
}

/**
 * Calls are numbered in the order in which their names come, whatever the server's own numbers. An entry belongs to the call of its
 * `index`, else of its `id`, else to the last one; an entry with a name and another id under a used index is a call of its own (Gemini).
 * Arguments that come before the name wait for it. A missing or repeated id is replaced by one of ours.
 */
export function toolCalls(choice: number): ToolCalls {
  const calls: Call[] = []
  let emitted = 0

  function emit(call: Call, piece: string, events: ChatEvent[]): void {
    if (call.number >= 0) {
      if (piece !== '') events.push({ type: 'tool-call-delta', choice, call: call.number, arguments: piece })
    } else if (call.name === '') {
      call.pending += piece
    } else {
      call.number = emitted++
      const taken = calls.some((other) => other !== call && other.emitted_id === call.id)
      call.emitted_id = call.id === '' || call.id.length > ID_LENGTH_MAX || taken ? newCallId() : call.id
      const { emitted_id: id, name, pending } = call
      events.push({ type: 'tool-call-delta', choice, call: call.number, id, name, arguments: pending + piece })
    }
  }

  return {
    read(value, events) {
      if (!Array.isArray(value)) return
      for (const item of value) {
        const entry = readEntry(item)
        if (entry === null) continue
        const call = callOf(calls, entry)
        if (call.id === '') call.id = entry.id
        if (call.name === '') call.name = entry.name
        emit(call, entry.arguments, events)
      }
    },
    broken: () => calls.some(({ number }) => number < 0),
    count: () => emitted,
  }
}

/** `number` is -1 and `emitted_id` empty until the call has been emitted. `index` is the server's. */
type Call = { index: number | null; id: string; emitted_id: string; name: string; pending: string; number: number }
type Entry = { index: number | null; id: string; name: string; arguments: string }

const ID_LENGTH_MAX = 256

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
  }
  return read.id === '' && read.name === '' && read.arguments === '' ? null : read
}

function callOf(calls: Call[], entry: Entry): Call {
  const found = findCall(calls, entry)
  if (found !== undefined && !isAnother(found, entry)) return found
  const call = { index: entry.index, id: '', emitted_id: '', name: '', pending: '', number: -1 }
  calls.push(call)
  return call
}

function findCall(calls: Call[], { index, id, name }: Entry): Call | undefined {
  if (index !== null) return calls.findLast((call) => call.index === index)
  if (id !== '') return calls.findLast((call) => call.id === id)
  return name === '' ? calls.at(-1) : undefined
}

/** Older vLLM sends a new id with every piece, but the name only once. */
function isAnother(call: Call, { id, name }: Entry): boolean {
  return name !== '' && call.name !== '' && id !== '' && call.id !== '' && id !== call.id
}

function newCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`
}
