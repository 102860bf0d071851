import { asRecord } from '../../../../platform/json/record.ts'
import { EngineError } from '../../../engine-error.ts'
import type { ChatEvent, FinishReason, TokenLogprob, TokenUsage } from '../../contract.ts'
import { type ToolCalls, toolCalls } from '../tool-calls.ts'
import { errorObjectError } from './error.ts'

export type CompletionReader = {
  /** Reads one object of an answer: a chunk of a stream or a whole completion. Throws EngineError. */
  read(object: unknown, events: ChatEvent[]): void
  /** No more will come. Throws EngineError unless every choice has finished, or usage came and every choice that was begun has finished. */
  end(events: ChatEvent[]): void
  /** Whether every choice has finished. */
  complete(): boolean
}

/**
 * Turns the chunks, or the whole completion, of an OpenAI-compatible server into events. Only what the contract names is read; choices
 * beyond `choices`, the number asked for, are dropped. Usage may come on any chunk, the last one counts.
 * Source: contract 9.3 and 9.4; docs/engines.md, chat servers.
 */
export function completionReader(asked: { choices: number; logprobs: boolean }): CompletionReader {
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
      if (finished === 0 || choices.some((choice) => choice && !choice.finished)) throw incomplete()
      // A server that ignores `n` sends one complete choice and its usage. Without usage the others may have been lost.
      if (finished < asked.choices && usage === null) throw incomplete()
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
export function incomplete(): EngineError {
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

/** A `delta` may end its choice or not; a complete `message` always does. */
function readChoice(choice: Choice, entry: Record<string, unknown>, logprobs: boolean, events: ChatEvent[]): void {
  const delta = asRecord(entry.delta)
  const message = delta ?? asRecord(entry.message)
  const isComplete = delta === null && message !== null
  if (message !== null) readMessage(choice, message, logprobs && entry.logprobs != null ? entry.logprobs : null, events)
  if (typeof entry.finish_reason !== 'string' && !isComplete) return
  if (choice.calls?.broken()) throw unreadable()
  choice.finished = true
  const called = choice.calls !== null && choice.calls.count() > 0
  events.push({ type: 'finish', choice: choice.index, reason: finishReason(entry.finish_reason, called) })
}

function readMessage(choice: Choice, message: Record<string, unknown>, logprobs: unknown, events: ChatEvent[]): void {
  const { content, refusal, tool_calls } = message
  const index = choice.index
  const reasoning = message.reasoning_content ?? message.reasoning
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
  if (tool_calls == null && message.function_call == null) return
  choice.calls ??= toolCalls(index)
  choice.calls.read(tool_calls, events)
  if (asRecord(message.function_call) !== null)
    choice.calls.read([{ index: 0, function: message.function_call }], events)
}

/** Content as parts: text, refusals, and Mistral's reasoning (`thinking`). */
function readParts(choice: number, parts: unknown[], events: ChatEvent[]): void {
  for (const item of parts) {
    const part = asRecord(item)
    if (part === null) continue
    if (typeof part.text === 'string' && part.text !== '') events.push({ type: 'text-delta', choice, text: part.text })
    if (typeof part.refusal === 'string' && part.refusal !== '')
      events.push({ type: 'refusal-delta', choice, text: part.refusal })
    if (!Array.isArray(part.thinking)) continue
    for (const step of part.thinking) {
      const text = asRecord(step)?.text
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

/**
 * The counts of a `usage` object, or null when they are not whole numbers. Parts never exceed their total. A missing detail is 0.
 * Source: contract 9.3; beside it DeepSeek `prompt_cache_hit_tokens`; SGLang `reasoning_tokens` beside the totals.
 */
function readUsage(value: unknown): TokenUsage | null {
  const usage = asRecord(value)
  if (usage === null) return null
  const { prompt_tokens: input, completion_tokens: output } = usage
  if (!isCount(input) || !isCount(output)) return null
  const cached = asRecord(usage.prompt_tokens_details)?.cached_tokens ?? usage.prompt_cache_hit_tokens
  const reasoning = asRecord(usage.completion_tokens_details)?.reasoning_tokens ?? usage.reasoning_tokens
  const audio_input = asRecord(usage.prompt_tokens_details)?.audio_tokens
  const audio_output = asRecord(usage.completion_tokens_details)?.audio_tokens
  return {
    ...(isCount(audio_input) && audio_input > 0 && { audio_input: Math.min(audio_input, input) }),
    ...(isCount(audio_output) && audio_output > 0 && { audio_output: Math.min(audio_output, output) }),
    input,
    cached_input: isCount(cached) ? Math.min(cached, input) : 0,
    output,
    reasoning: isCount(reasoning) ? Math.min(reasoning, output) : 0,
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** The tokens of `logprobs.content`, entries that cannot be read left out. Source: contract 9.3. */
function readLogprobs(value: unknown): TokenLogprob[] {
  const content = asRecord(value)?.content
  return Array.isArray(content) ? content.flatMap(readToken) : []
}

/** What OpenAI writes where a probability is too small for a number; JSON of other servers has null there. */
const LOGPROB_MIN = -9999

function readToken(value: unknown): TokenLogprob[] {
  const alternatives = asRecord(value)?.top_logprobs
  return readAlternative(value).map((token) => ({
    ...token,
    top_logprobs: Array.isArray(alternatives) ? alternatives.flatMap(readAlternative) : [],
  }))
}

function readAlternative(value: unknown): Array<{ token: string; logprob: number; bytes: number[] | null }> {
  const entry = asRecord(value)
  if (entry === null || typeof entry.token !== 'string') return []
  const logprob = Number.isFinite(entry.logprob) ? (entry.logprob as number) : LOGPROB_MIN
  return [{ token: entry.token, logprob, bytes: isBytes(entry.bytes) ? entry.bytes : null }]
}

function isBytes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255)
}
