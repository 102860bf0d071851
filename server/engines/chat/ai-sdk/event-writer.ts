import { DONE } from '../../../platform/http/sse.ts'
import { asRecord, isRecord, jsonIn } from '../../../platform/json/record.ts'
import { errorDetail } from '../../reply-error.ts'
import { readFinishReason, reasonText } from '../finish-reason.ts'
import { deltaOf } from '../openai/read/choice.ts'
import { reportsError } from '../openai/read/completion.ts'
import { jsonValues } from '../openai/read/json-end.ts'
import { saysError } from '../openai/read/remarks.ts'
import { MARK_AT_END } from '../openai/read/stream.ts'
import type { SseEvent } from '../openai/sse-parser.ts'

export type EventWriter = {
  /** An event as packages read it; empty for words. */
  of(event: Pick<SseEvent, 'data' | 'name'>): string
  /** The body ended: what a server said that has sent nothing but words. */
  end(): string
}

/** Writes the events of a body one by one, each object as an event of its own. */
export function eventWriter(): EventWriter {
  const seen: Seen = { deltas: false, reason: false }
  let words = ''
  let isAnswered = false
  const end = () => (isAnswered || words === '' ? '' : eventOf(words))
  return {
    of({ data, name }) {
      if (name === 'ping') return ''
      if (data.startsWith('[DONE]')) return end() + DONE
      if (OBJECTS.test(data)) {
        isAnswered = true
        return eventsOf(data, seen)
      }
      if (name === 'error') return eventOf(data)
      if (data !== 'null') words = data
      return ''
    },
    end,
  }
}

/** How a text with objects begins. */
const OBJECTS = /^\s*[{[]\s*["{}\]]/

/** What is no JSON stays as it is, for the package to report. */
function eventsOf(text: string, seen: Seen): string {
  const only = jsonIn(text)
  if (isRecord(only)) {
    if (isPing(only)) return ''
    const chunk = asChunk(only, seen)
    return eventOf(chunk === only ? text : JSON.stringify(chunk))
  }
  try {
    const objects = [...jsonValues(text.replace(MARK_AT_END, ''))].flat().filter((object) => !isPing(object))
    const events = objects.map((object) => eventOf(JSON.stringify(asChunk(object, seen))))
    return events.join('') + (MARK_AT_END.test(text) ? DONE : '')
  } catch {
    return eventOf(text)
  }
}

function isPing(object: unknown): boolean {
  return isRecord(object) && (object.type === 'ping' || Object.keys(object).length === 0)
}

function eventOf(data: string): string {
  return `data: ${data.replaceAll('\n', '\ndata: ')}\n\n`
}

/** What an answer in chat completions has had: a delta that is not empty, and a reason. */
type Seen = { deltas: boolean; reason: boolean }

/** An object of chat completions as packages read it: an error is in its place, a delta in that of a message or a text. */
function asChunk(object: unknown, seen: Seen): unknown {
  const chunk = asRecord(object)
  const given: unknown = chunk?.choices
  if (chunk === null || !Array.isArray(given)) return object
  const error = errorIn(chunk)
  if (error !== null && !(seen.reason && error === chunk)) return { error }
  const choices = given.filter(isRecord).map((choice) => asDelta(choice, seen))
  const { error: own, ...rest } = chunk
  const isUnchanged = own === undefined && given.every((choice, i) => choice === choices[i])
  return isUnchanged ? chunk : { ...rest, choices }
}

/** The error that a server gives in the place of an answer or of a choice; null for none. */
export function errorIn(object: Record<string, unknown>): unknown {
  const choices = Array.isArray(object.choices) ? object.choices : []
  const errors = [object, object.x_groq, ...choices].map((each) => asRecord(each)?.error)
  const error = errors.find(reportsError)
  if (error !== undefined) return error
  return choices.length === 0 && saysError(errorDetail(object)) ? object : null
}

/** A message is that of an answer without deltas, and otherwise everything again. */
function asDelta(choice: Record<string, unknown>, seen: Seen): Record<string, unknown> {
  const message = asRecord(choice.message)
  const delta = deltaOf(choice, message !== null)
  seen.deltas ||= deltaOf({ delta }, true) !== null
  const finish_reason = reasonText(choice.finish_reason)
  seen.reason ||= readFinishReason(finish_reason) !== null
  if (delta === choice.delta && delta !== null && finish_reason === choice.finish_reason) return choice
  return { ...choice, delta: delta ?? (seen.deltas ? null : message) ?? {}, finish_reason }
}
