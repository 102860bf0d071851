import { asRecord } from '../../../platform/json/record.ts'
import { EngineError } from '../../engine-error.ts'
import type { ChatEvent, FinishReason, TokenUsage } from '../contract.ts'
import { readLogprobs } from './logprobs.ts'
import { errorObjectError } from './refusal.ts'
import { type ToolCalls, toolCalls } from './tool-calls.ts'
import { readUsage } from './usage.ts'

export type AnswerReader = {
  /** Reads one object of an answer: a chunk of a stream or a whole completion. Throws EngineError. */
  read(object: unknown, events: ChatEvent[]): void
  /** Nothing more will come. Throws EngineError unless every choice has finished, or those that came and usage did. */
  end(events: ChatEvent[]): void
  /** Whether every choice has finished. */
  complete(): boolean
}

/**
 * Turns what an OpenAI-compatible server says into events. Only what the contract names is read; choices beyond `choices` (as many as
 * were asked for) are dropped. Usage may come on any chunk, the last one counts.
 * Source: contract 9.3 and 9.4; docs/engines.md, chat servers.
 */
export function answerReader(asked: { choices: number; logprobs: boolean }): AnswerReader {
  const choices: Array<Choice | undefined> = []
  let usage: TokenUsage | null = null
  let finished = 0
  let begun = false

  return {
    read(object, events) {
      const chunk = asRecord(object)
      if (chunk === null) throw unreadable()
      if (chunk.error != null) throw errorObjectError(chunk.error, begun)
      if (chunk.object === 'error') throw errorObjectError(chunk, begun)
      if (asRecord(chunk.usage) !== null) usage = readUsage(chunk.usage)
      if (!Array.isArray(chunk.choices)) return
      for (const [position, item] of chunk.choices.entries()) {
        const entry = asRecord(item)
        const index = entry === null ? -1 : choiceIndex(entry.index, position, asked.choices)
        if (entry === null || index < 0) continue
        if (entry.error != null) throw errorObjectError(entry.error, begun)
        begun = true
        const choice = choices[index] ?? { index, finished: false, calls: null }
        choices[index] = choice
        if (choice.finished) continue
        readChoice(choice, entry, asked.logprobs, events)
        if (choice.finished) finished += 1
      }
    },
    end(events) {
      if (finished === 0 || choices.some((choice) => choice && !choice.finished)) throw brokenOff()
      // A server that ignores `n` has given one whole choice, and says what it used. Without that, the others may have been lost.
      if (finished < asked.choices && usage === null) throw brokenOff()
      events.push({ type: 'end', usage })
    },
    complete: () => finished >= asked.choices,
  }
}

/** The answer cannot be read. */
export function unreadable(): EngineError {
  return new EngineError('failed', 'The answer of the model server cannot be read.')
}

/** The answer ended before its end. */
export function brokenOff(): EngineError {
  return new EngineError('failed', 'The answer of the model server broke off.')
}

export function timedOut(): EngineError {
  return new EngineError('timeout', 'The model server did not answer in time.')
}

type Choice = { index: number; finished: boolean; calls: ToolCalls | null }

function choiceIndex(value: unknown, position: number, choices: number): number {
  const index = Number.isSafeInteger(value) ? (value as number) : position
  return index >= 0 && index < choices ? index : -1
}

/** A `delta` may end its choice or not; a whole `message` always does. */
function readChoice(choice: Choice, entry: Record<string, unknown>, logprobs: boolean, events: ChatEvent[]): void {
  const delta = asRecord(entry.delta)
  const said = delta ?? asRecord(entry.message)
  const whole = delta === null && said !== null
  if (said !== null) readMessage(choice, said, logprobs && entry.logprobs != null ? entry.logprobs : null, events)
  if (typeof entry.finish_reason !== 'string' && !whole) return
  if (choice.calls?.broken()) throw unreadable()
  choice.finished = true
  const called = choice.calls !== null && choice.calls.count() > 0
  events.push({ type: 'finish', choice: choice.index, reason: finishReason(entry.finish_reason, called) })
}

function readMessage(choice: Choice, said: Record<string, unknown>, logprobs: unknown, events: ChatEvent[]): void {
  const { content, refusal, tool_calls } = said
  const index = choice.index
  const reasoning = said.reasoning_content ?? said.reasoning
  if (typeof reasoning === 'string' && reasoning !== '')
    events.push({ type: 'reasoning-delta', choice: index, text: reasoning })
  const tokens = logprobs === null ? [] : readLogprobs(logprobs)
  if (Array.isArray(content)) readParts(index, content, events)
  const text = typeof content === 'string' ? content : ''
  if (tokens.length > 0 && (text !== '' || isEmpty(reasoning))) {
    events.push({ type: 'text-delta', choice: index, text, logprobs: tokens })
  } else if (text !== '') {
    events.push({ type: 'text-delta', choice: index, text })
  }
  if (typeof refusal === 'string' && refusal !== '')
    events.push({ type: 'refusal-delta', choice: index, text: refusal })
  if (tool_calls == null && said.function_call == null) return
  choice.calls ??= toolCalls(index)
  choice.calls.read(tool_calls, events)
  if (asRecord(said.function_call) !== null) choice.calls.read([{ index: 0, function: said.function_call }], events)
}

/** Content as parts: text, refusals, and the thinking of Mistral. */
function readParts(choice: number, parts: unknown[], events: ChatEvent[]): void {
  for (const item of parts) {
    const part = asRecord(item)
    if (part === null) continue
    if (typeof part.text === 'string' && part.text !== '') events.push({ type: 'text-delta', choice, text: part.text })
    if (typeof part.refusal === 'string' && part.refusal !== '')
      events.push({ type: 'refusal-delta', choice, text: part.refusal })
    if (!Array.isArray(part.thinking)) continue
    for (const thought of part.thinking) {
      const text = asRecord(thought)?.text
      if (typeof text === 'string' && text !== '') events.push({ type: 'reasoning-delta', choice, text })
    }
  }
}

function finishReason(value: unknown, called: boolean): FinishReason {
  if (value === 'length' || value === 'content_filter' || value === 'tool_calls') return value
  return called || value === 'function_call' ? 'tool_calls' : 'stop'
}

function isEmpty(value: unknown): boolean {
  return typeof value !== 'string' || value === ''
}
