import { asRecord, isRecord } from '../../../../platform/json/record.ts'
import type { EngineError } from '../../../engine-error.ts'
import type { ChatEvent, TokenUsage } from '../../contract.ts'
import type { ReadWords } from '../../server-words.ts'
import { laterUsage, plausibleUsage, readUsage } from '../../usage.ts'
import { type Choice, choiceOf, finishAll, LATE_MAX, readChoice } from './choice.ts'
import { errorObjectError, incomplete, unreadable } from './error.ts'
import { hasContent } from './message.ts'
import { isFault, readRemarks } from './remarks.ts'

/** How an answer ended: by `[DONE]`, with its body, or as one JSON text, which is an object or a list of them. */
export type BodyEnd = 'mark' | 'body' | 'json' | 'list'

export type CompletionReader = {
  /** Reads one object of an answer, a chunk of a stream or a whole completion, or a list of them. Throws EngineError. */
  read(object: unknown, events: ChatEvent[]): void
  /**
   * No more will come: emits the finish of every choice, and the end. Throws EngineError when a choice failed, or has no reason and the
   * usage does not show that it is complete.
   */
  end(events: ChatEvent[], ended: BodyEnd): void
  /** Whether any part of an answer has come. */
  begun(): boolean
  /** What may still come, as far as it can be believed, if what has come would end like this. */
  missing(by: BodyEnd): Missing
  /** The error that the server gave in place of the rest, in an object like no other such as `{code, message}`; otherwise `fault`. */
  faultOr(fault: EngineError): EngineError
}

/**
 * `answer`: choices have no reason, or go on after each. `reason`: the usage has come after the text, which shows that it is complete if
 * nothing follows. `usage`: every choice has its reason. `refused`: nothing, since the server says why there is no answer, or no more of it.
 */
export type Missing = 'answer' | 'reason' | 'usage' | 'nothing' | 'refused'

/**
 * What was asked for. `tools`: their names. `plain`: no stream. `words` makes what the server says of an error fit for the log.
 */
type Asked = { choices: number; logprobs: boolean; tools?: readonly string[]; plain?: boolean; words?: ReadWords }

/**
 * Turns the chunks, or the whole completion, of an OpenAI-compatible server into events. Only what the contract names is read; choices
 * that nobody asked for are dropped. A choice may go on after its reason, and the last reason counts.
 * Source: contract 9.3 and 9.4; docs/engines.md, chat servers.
 */
export function completionReader(asked: Asked): CompletionReader {
  const choices: Array<Choice | undefined> = []
  const tools = new Set(asked.tools)
  let usage: TokenUsage | null = null
  let isUsageLast = false
  let ended = 0
  let begun = false
  /** Whether a message is said to be one piece of several. */
  let isPiece = false
  const remarks = readRemarks(asked.words)

  function read(object: unknown, events: ChatEvent[]): void {
    if (Array.isArray(object)) {
      for (const each of object) read(each, events)
      return
    }
    const chunk = unwrapped(asRecord(object))
    if (chunk === null) throw unreadable()
    requireNoError(chunk, { begun, words: asked.words })
    const hadUsage = usage !== null
    if (chunk.usage != null) takeUsage(chunk.usage)
    if (chunk.x_groq != null) takeUsage(asRecord(chunk.x_groq)?.usage)
    if (!Array.isArray(chunk.choices) || chunk.choices.length === 0) {
      remarks.read(chunk)
      return
    }
    for (const [position, item] of chunk.choices.entries()) {
      const entry = asRecord(item)
      const choice = entry && choiceOf(entry, position, choices, { asked: asked.choices, tools })
      if (entry === null || choice === null) continue
      if (reportsError(entry.error)) throw errorObjectError(entry.error, { begun, words: asked.words })
      begun = true
      isUsageLast = false
      remarks.answered()
      const hadReason = choice.ending !== null
      readChoice(choice, entry, asked.logprobs, events)
      if (!hadReason && choice.ending !== null) ended += 1
      if (choice.is_message) isPiece = chunk.object === 'chat.completion.chunk'
      if (entry.usage != null) takeUsage(entry.usage)
    }
    // With the last piece, unless it comes with every piece.
    isUsageLast ||= !hadUsage && usage !== null && usage.output > 0 && ended >= asked.choices
  }

  function takeUsage(value: unknown): void {
    const found = readUsage(value)
    usage = laterUsage(usage, found)
    isUsageLast = found !== null
  }

  const faultOr = (fault: EngineError) => remarks.faultOr(fault, { begun })
  const complete = () =>
    ended >= asked.choices && choices.every((choice) => choice === undefined || choice.late < LATE_MAX)
  const hasProduced = () => choices.some((choice) => choice !== undefined && hasContent(choice.message))

  /** One JSON text with messages is complete; an object with deltas may be the first of several. */
  const isWhole = (by: BodyEnd) =>
    (by === 'json' || by === 'list') && choices.length > 0 && choices.every((choice) => choice!.is_message)
  const isUnfinished = () => choices.length === 0 || choices.some((choice) => choice?.ending === null)
  const isRefused = (by: BodyEnd) =>
    ended < asked.choices &&
    (remarks.endWithError() || (by === 'json' && !begun && (remarks.any() || asked.plain === true)))

  return {
    read,
    end(events, by) {
      const isEnded = isWhole(by) || (usage !== null && (by === 'mark' || isUsageLast))
      const all = choices.filter((choice) => choice !== undefined)
      if (isUnfinished() && (all.length === 0 || remarks.endWithError() || !isEnded)) throw faultOr(incomplete())
      // A server that ignores `n` sends one complete choice and its usage. Without usage the others may have been lost.
      if (all.length < asked.choices && usage === null) throw faultOr(incomplete())
      finishAll(all, events)
      events.push({ type: 'end', usage: plausibleUsage(usage, hasProduced()) })
    },
    begun: () => begun,
    faultOr,
    missing(by) {
      if (isRefused(by)) return 'refused'
      if (by === 'list') return 'nothing'
      if (isWhole(by)) return usage !== null || ended > 0 || !isPiece || asked.plain ? 'nothing' : 'reason'
      const isCounted = usage !== null && usage.output > 0
      // Where every chunk has a reason, or there are too few choices, the usage after them shows that the reasons were meant.
      const haveReasons = complete() || (isUsageLast && !isUnfinished())
      if (!haveReasons) return isUsageLast && hasProduced() && choices.length >= asked.choices ? 'reason' : 'answer'
      // A reason before the first piece may come with the role: it says nothing until the usage has followed.
      if (!(hasProduced() || isUsageLast || isCounted)) return 'answer'
      return isCounted ? 'nothing' : 'usage'
    },
  }
}

/**
 * Gateways put an answer into `result` (Cloudflare) or `data`, beside how the call went. That of Cloudflare may be `{response, usage}`.
 * Source: https://developers.cloudflare.com/workers-ai/get-started/rest-api/
 */
export function unwrapped(object: Record<string, unknown> | null): Record<string, unknown> | null {
  if (object === null || Array.isArray(object.choices)) return object
  const inner = asRecord(object.result) ?? asRecord(object.data)
  if (Array.isArray(inner?.choices) && inner.choices.length > 0) return inner
  if (typeof inner?.response !== 'string') return object
  return { choices: [{ message: { content: inner.response, tool_calls: inner.tool_calls } }], usage: inner.usage }
}

/**
 * Throws the error that an object is, or holds, in whatever form. Groq's says why a stream was ended early.
 * Source: https://console.groq.com/docs/api-reference
 */
function requireNoError(chunk: Record<string, unknown>, about: { begun: boolean; words: ReadWords | undefined }): void {
  const { choices, error, object } = chunk
  const early = chunk.x_groq == null ? undefined : asRecord(chunk.x_groq)?.error
  if (reportsError(early)) throw errorObjectError(early, about)
  if (object === 'error' || reportsError(error) || (!Array.isArray(choices) && error != null && error !== false))
    throw errorObjectError(chunk, about)
}

/** Servers write `error: null`, `""`, `{}` or one that says success beside an answer. */
export function reportsError(error: unknown): boolean {
  return isRecord(error) ? Object.values(error).some(isFault) : Boolean(error)
}
