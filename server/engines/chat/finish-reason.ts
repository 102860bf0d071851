import { asRecord } from '../../platform/json/record.ts'
import { EngineError } from '../engine-error.ts'
import { meaningOfCode, plainWord } from '../error-words.ts'
import { printable } from '../reply-error.ts'
import type { FinishReason } from './contract.ts'

/** How an answer ended by the word of its server; the last two are failures. */
export type Ending = FinishReason | 'failed' | 'overloaded'

/**
 * What a `finish_reason` means, in any case and punctuation. Null for none, in whatever words: the answer goes on. A word that
 * is not known is `stop`. Sources beside OpenAI's: Gemini's and Cohere's reference of `finish_reason`, Anthropic's and Bedrock's of
 * `stop_reason`, vLLM's `FinishReason`, Mistral's `model_length`, Zhipu's `sensitive` and `network_error`, DeepSeek's
 * `insufficient_system_resource`, LM Studio's `stopReason`, DashScope's `null` with every chunk.
 */
export function readFinishReason(value: unknown): Ending | null {
  const text = reasonText(value)
  if (typeof text !== 'string') return null
  const known = WORDS.get(text)
  if (known !== undefined) return known
  const word = plainWord(text.slice(0, 64))
  return text.trim() === '' || NONE.has(word) ? null : endingOf(word)
}

/** A reason as servers write it: SGLang's own is `{type: 'length', length: 9}`. */
export function reasonText(value: unknown): unknown {
  return asRecord(value)?.type ?? value
}

/**
 * The reason that a client sees. Calls were made or not, whatever the server says, and one whose JSON has no end (`cut`) met a limit: vLLM
 * says `tool_calls` there. Throws EngineError for a failure, with the server's own word.
 */
export function finishReason(
  ending: Ending,
  { called, cut, word }: { called: boolean; cut: boolean; word: unknown },
): FinishReason {
  if (ending === 'failed' || ending === 'overloaded') {
    const engine_code = typeof word === 'string' ? printable(word) : undefined
    throw new EngineError(ending, 'The model server says that the answer is not complete.', { engine_code })
  }
  if (ending === 'stop' || ending === 'tool_calls') return cut ? 'length' : called ? 'tool_calls' : 'stop'
  return ending
}

/** Those of nearly all answers. */
const WORDS: ReadonlyMap<string, Ending> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['content_filter', 'content_filter'],
])

const NONE = new Set(['null', 'none', 'nil', 'undefined', 'finishreasonunspecified', 'inprogress', 'notfinished'])

function endingOf(word: string): Ending {
  if (CALL_FAILURE.test(word)) return 'failed'
  if (LENGTH.test(word)) return 'length'
  if (FILTER.test(word)) return 'content_filter'
  if (CALLS.test(word)) return 'tool_calls'
  const meaning = meaningOfCode(word)
  if (meaning === 'moderation') return 'content_filter'
  if (meaning === 'busy') return 'overloaded'
  return meaning !== null || FAILURE.test(word) ? 'failed' : 'stop'
}

/**
 * Gemini could not read the call that its model made, or the model goes round in circles (`TOO_MANY_TOOL_CALLS`). Its endpoint in OpenAI's
 * form says `function_call_filter: MALFORMED_FUNCTION_CALL`.
 */
const CALL_FAILURE = /^functioncallfilter|malformed|^unexpectedtool|^toomany(tool|function)/
const LENGTH =
  /length|max\w*tokens?|token\w*limit|errorlimit|(output|response|context)limit|^limit|contextwindow|truncat|^incomplete$/
const FILTER = /filter|safety|unsafe|harmful|moderat|recitation|blocklist|blocked|prohibited|spii|guardrail|refus|toxic/
const CALLS = /^(tool|function)(call|use)s?$/
const FAILURE = /abort|cancel|error|fail|killed|missing|unexpected|interrupt|terminated|exception|unloaded|^userstop/
