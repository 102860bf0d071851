import { asRecord } from '../../../../platform/json/record.ts'
import type { ChatEvent, FinishReason } from '../../contract.ts'
import { type Ending, finishReason, readFinishReason, reasonText } from '../../finish-reason.ts'
import { wholeNumber } from '../calls/entry.ts'
import { unreadable } from './error.ts'
import {
  callsOf,
  type EmittedMessage,
  emptyMessage,
  endMessage,
  hasContent,
  readDelta,
  readMessage,
} from './message.ts'

/**
 * `numbers`: those that the server gives it. `word`: the server's own for `ending`. `late`: how many times the message has gone on after a
 * reason. `is_message`: whether it came as one, and not as a delta.
 */
export type Choice = {
  message: EmittedMessage
  numbers: Set<number>
  ending: Ending | null
  word: unknown
  late: number
  is_message: boolean
}

type Entry = Record<string, unknown>

/** From here on the reasons of a server say nothing: it sends one with every chunk. */
export const LATE_MAX = 2

/** The choice that an entry belongs to, added to those that are known; null when nobody asked for it. */
export function choiceOf(
  entry: Entry,
  position: number,
  known: Array<Choice | undefined>,
  { asked, tools }: { asked: number; tools: ReadonlySet<string> },
): Choice | null {
  const number = wholeNumber(entry.index) ?? position
  const isAsked = asked === 1 ? isOfOnly(known[0], entry, number) : number >= 0 && number < asked
  if (!isAsked) return null
  const index = asked === 1 ? 0 : number
  known[index] ??= newChoice(index, tools)
  known[index].numbers.add(number)
  return known[index]
}

export function readChoice(choice: Choice, entry: Entry, logprobs: boolean, events: ChatEvent[]): void {
  const { message } = choice
  const before = events.length
  const whole = entry.message == null ? null : asRecord(entry.message)
  const delta = deltaOf(entry, whole !== null)
  const word = reasonText(entry.finish_reason ?? entry.finishReason)
  const reason = readFinishReason(word)
  const probabilities = logprobs && entry.logprobs != null ? entry.logprobs : null
  if (whole !== null && delta === null) {
    choice.is_message = true
    readMessage(message, whole, { logprobs: probabilities, ends: reason !== null }, events)
  } else if (delta !== null) {
    readDelta(message, delta, probabilities, events)
    message.has_deltas ||= events.length > before
  }
  if (choice.ending !== null && events.length > before) choice.late += 1
  if (reason === null) return
  choice.ending = reason
  choice.word = word
}

/** The delta of an entry; null for an empty one beside a message. Completions of the older form have a text. */
export function deltaOf(entry: Entry, has_message: boolean): Record<string, unknown> | null {
  const delta = asRecord(entry.delta)
  if (!has_message && typeof entry.text !== 'string') return delta
  const isEmpty = delta === null || Object.entries(delta).every(([name, value]) => name === 'role' || isNothing(value))
  if (!isEmpty) return delta
  return has_message ? null : { ...delta, content: entry.text }
}

function isNothing(value: unknown): boolean {
  return value == null || value === '' || (Array.isArray(value) && value.length === 0)
}

/** Each is checked before any is emitted. */
export function finishAll(choices: readonly Choice[], events: ChatEvent[]): void {
  const reasons = choices.map(reasonOf)
  for (const [i, { message }] of choices.entries()) {
    endMessage(message, { run: reasons[i] === 'tool_calls' }, events)
    events.push({ type: 'finish', choice: message.choice, reason: reasons[i]! })
  }
}

function newChoice(index: number, tools: ReadonlySet<string>): Choice {
  const message = emptyMessage(index, tools)
  return { message, numbers: new Set(), ending: null, word: '', late: 0, is_message: false }
}

/**
 * Whether an entry belongs to the only choice. Some servers number it from 1, or count pieces (TGI); GitHub Copilot sends its calls as
 * a second choice.
 */
function isOfOnly(only: Choice | undefined, entry: Entry, number: number): boolean {
  if (only === undefined || only.numbers.has(number) || !only.numbers.has(0) || !hasContent(only.message)) return true
  return callsOf(asRecord(entry.message) ?? asRecord(entry.delta) ?? {}).length > 0
}

/** Throws EngineError for a failure, and for a call that never got its name. */
function reasonOf({ message: { calls }, ending, word }: Choice): FinishReason {
  if (calls?.broken()) throw unreadable()
  const made = { called: calls !== null && calls.count() > 0, cut: calls?.cut() === true }
  return finishReason(ending ?? 'stop', { ...made, word })
}
