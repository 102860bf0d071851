import { asRecord } from '../../../../platform/json/record.ts'
import { calledName } from '../../call-id.ts'
import type { ExtraContent } from '../../contract.ts'

/** An entry of `tool_calls`: a call, or a piece of one. What it does not have is null or empty. */
export type Entry = {
  index: number | null
  id: string
  name: string
  arguments: string
  extra_content: ExtraContent | undefined
}

/**
 * Null for what is not an entry, and for an empty one. Small models write `parameters` for `arguments`, and leave out `function`; their
 * servers pass it on.
 */
export function readEntry(item: unknown): Entry | null {
  const entry = asRecord(item)
  if (entry === null) return null
  const called = asRecord(entry.function) ?? entry
  const piece = called.arguments ?? called.parameters
  const read = {
    index: wholeNumber(entry.index),
    id: typeof entry.id === 'string' ? entry.id : '',
    name: typeof called.name === 'string' ? calledName(called.name) : '',
    arguments: typeof piece === 'string' ? piece : asRecord(piece) === null ? '' : JSON.stringify(piece),
    extra_content: entry.extra_content == null ? undefined : (asRecord(entry.extra_content) ?? undefined),
  }
  const isEmpty = read.id === '' && read.name === '' && read.arguments === '' && read.extra_content === undefined
  return isEmpty ? null : read
}

/** Some servers write numbers as texts. */
export function wholeNumber(value: unknown): number | null {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(number) ? (number as number) : null
}
