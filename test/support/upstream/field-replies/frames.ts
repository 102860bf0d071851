import type { FinishReason } from '../../../../server/engines/chat/contract.ts'
import type { EngineErrorKind } from '../../../../server/engines/engine-error.ts'
import { chunk, completion, type UpstreamReply } from '../chat-upstream.ts'

/** Tokens of an answer as they are billed. */
type Tokens = { input: number; output: number; cached?: number; reasoning?: number }

/**
 * A reply that model servers of the field give, and what is made of it. `finish` is `stop`, or `tool_calls` where there are calls, unless
 * given. `usage` is what `USAGE` says unless given; null: none that can be used, so the service counts. `fails`: how the answer ends
 * instead, after `text`; `reason`: what the log then has of it. `package`: why a package of the AI SDK, which reads the bytes itself, makes
 * something else of it. `plain`: whether it is given to plain requests beside those for a stream, or to them alone.
 */
export type FieldReply = {
  reply: UpstreamReply
  text?: string
  reasoning?: string
  calls?: ReadonlyArray<readonly [name: string, text: string]>
  extra_content?: object
  finish?: FinishReason
  usage?: Tokens | null
  fails?: EngineErrorKind
  reason?: RegExp
  package?: string
  plain?: 'also' | 'only'
}

export const USAGE = { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 }
export const BILLED: Tokens = { input: 10, output: 50 }

export const last = (usage: unknown = USAGE, more: object = {}) => ({ ...chunk({}), choices: [], usage, ...more })
export const text = (content: string, finish_reason: string | null = null) => chunk({ content }, { finish_reason })
export const end = (finish_reason: unknown) => chunk({}, { finish_reason })
export const call = (index: number, id: string, name: string, piece: string, more: object = {}) => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: piece },
  ...more,
})
export const calls = (list: readonly object[], finish_reason: string | null = null) =>
  chunk({ tool_calls: list }, { finish_reason })
export const stream = (frames: ReadonlyArray<object | string>, more: object = {}): UpstreamReply => ({
  kind: 'stream',
  frames,
  ...more,
})
export const whole = (message: object, finish_reason = 'stop') => ({
  ...completion(message, { finish_reason, usage: USAGE }),
})
export const PAGE = 'word '.repeat(400)
export const READS_ITSELF = 'the package reads the bytes by its own rules'

/** A chunk with a message in place of a delta. */
export function messages(message: object, finish_reason: string | null = null): object {
  return { ...chunk({}), choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }] }
}
