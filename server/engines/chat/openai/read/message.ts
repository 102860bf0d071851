import { asRecord } from '../../../../platform/json/record.ts'
import type { ChatEvent } from '../../contract.ts'
import { type ToolCalls, toolCalls } from '../calls/tool-calls.ts'
import { readLogprobs } from './logprobs.ts'

/** What has been emitted of the message of one choice. */
export type EmittedMessage = {
  readonly choice: number
  /** The names of the tools that the model was given. */
  readonly tools: ReadonlySet<string>
  text: string
  reasoning: string
  refusal: string
  calls: ToolCalls | null
  /** OpenRouter's encrypted reasoning. */
  readonly sealed: unknown[]
  /** Whether any of it came as a delta. */
  has_deltas: boolean
}

export function emptyMessage(choice: number, tools: ReadonlySet<string>): EmittedMessage {
  return { choice, tools, text: '', reasoning: '', refusal: '', calls: null, sealed: [], has_deltas: false }
}

/** Whether anything of an answer has been emitted. */
export function hasContent({ text, reasoning, refusal, calls }: EmittedMessage): boolean {
  return text !== '' || reasoning !== '' || refusal !== '' || (calls !== null && calls.count() > 0)
}

/** Reads one piece of the message. `logprobs` is null when nobody asked for them. */
export function readDelta(
  message: EmittedMessage,
  delta: Record<string, unknown>,
  logprobs: unknown,
  events: ChatEvent[],
): void {
  const { choice } = message
  const { content, refusal, tool_calls } = delta
  const reasoning = reasoningOf(delta)
  if (reasoning !== '') addReasoning(message, reasoning, events)
  const tokens = logprobs === null ? [] : readLogprobs(logprobs)
  const text = typeof content === 'string' ? content : ''
  if (text === '' && content != null && content !== '') readParts(message, [content].flat(), events)
  message.text += text
  if (tokens.length > 0 && (text !== '' || reasoning === '')) {
    events.push({ type: 'text-delta', choice, text, logprobs: tokens })
  } else if (text !== '') {
    events.push({ type: 'text-delta', choice, text })
  }
  if (typeof refusal === 'string') addRefusal(message, refusal, events)
  if (delta.reasoning_details != null) message.sealed.push(...sealedIn(delta.reasoning_details))
  if (tool_calls == null && delta.function_call == null) return
  message.calls ??= toolCalls(choice, message.tools)
  message.calls.read(callsOf(delta), events)
}

/**
 * Reads a message that may be everything so far: after deltas it is, and without them where it begins with what has come and goes on, or
 * ends its choice, or lists the calls so far. Only what is new of it is emitted.
 */
export function readMessage(
  message: EmittedMessage,
  entry: Record<string, unknown>,
  { logprobs, ends }: { logprobs: unknown; ends: boolean },
  events: ChatEvent[],
): void {
  const { text, reasoning, refusal, calls, has_deltas } = message
  const whole = emptyMessage(message.choice, message.tools)
  readDelta(whole, { ...entry, tool_calls: undefined, function_call: undefined }, null, [])
  const list = callsOf(entry)
  const isMore = whole.text.length > text.length || whole.reasoning.length > reasoning.length || list.length > 0
  const goesOn = text === '' ? reasoning !== '' && whole.reasoning.startsWith(reasoning) : whole.text.startsWith(text)
  const grows = (goesOn && (ends || isMore)) || calls?.areIn(list) === true
  if (!hasContent(message) || !(has_deltas || grows)) {
    readDelta(message, entry, logprobs, events)
    return
  }
  addReasoning(message, newOf(reasoning, whole.reasoning), events)
  const more = newOf(text, whole.text)
  message.text += more
  if (more !== '') events.push({ type: 'text-delta', choice: message.choice, text: more })
  addRefusal(message, newOf(refusal, whole.refusal), events)
  if (list.length === 0) return
  message.calls = calls ?? toolCalls(message.choice, message.tools)
  message.calls.readWhole(list, events)
}

/**
 * No more will come of the message. `run`: the client is to run its calls. OpenRouter wants its encrypted reasoning back beside the calls
 * that it led to: the last of them carries it to the client. Source: https://openrouter.ai/docs/use-cases/reasoning-tokens
 */
export function endMessage(
  { choice, calls, sealed }: EmittedMessage,
  { run }: { run: boolean },
  events: ChatEvent[],
): void {
  calls?.end(events, { run })
  const call = (calls?.count() ?? 0) - 1
  if (call < 0 || sealed.length === 0) return
  const extra_content = { openrouter: { reasoning_details: sealed } }
  events.push({ type: 'tool-call-delta', choice, call, arguments: '', extra_content })
}

function sealedIn(details: unknown): unknown[] {
  return [details].flat().filter((each) => asRecord(each)?.type === 'reasoning.encrypted')
}

/** The calls of a message, or its only one in the older form, which some servers send beside the newer one. */
export function callsOf({ tool_calls, function_call: called }: Record<string, unknown>): readonly unknown[] {
  const list = tool_calls == null ? [] : [tool_calls].flat()
  if (list.length > 0) return list
  return asRecord(called) === null ? [] : [{ index: 0, function: called }]
}

function newOf(known: string, whole: string): string {
  return whole.startsWith(known) ? whole.slice(known.length) : ''
}

/** Content as parts: text, refusals, and the reasoning of Mistral and Anthropic (`thinking`). */
function readParts(message: EmittedMessage, parts: unknown[], events: ChatEvent[]): void {
  for (const item of parts) {
    const part = typeof item === 'string' ? { text: item } : asRecord(item)
    if (part === null) continue
    const text = asRecord(part.text)?.value ?? part.text
    if (typeof text === 'string' && text !== '') {
      message.text += text
      events.push({ type: 'text-delta', choice: message.choice, text })
    }
    if (typeof part.refusal === 'string') addRefusal(message, part.refusal, events)
    addReasoning(message, textsOf(part.thinking), events)
  }
}

function addReasoning(message: EmittedMessage, text: string, events: ChatEvent[]): void {
  if (text === '') return
  message.reasoning += text
  events.push({ type: 'reasoning-delta', choice: message.choice, text })
}

function addRefusal(message: EmittedMessage, text: string, events: ChatEvent[]): void {
  if (text === '') return
  message.refusal += text
  events.push({ type: 'refusal-delta', choice: message.choice, text })
}

/**
 * Reasoning by the first of its names that holds any: servers repeat it under several. Beside DeepSeek's and OpenRouter's names:
 * OpenRouter's `reasoning_details`, LiteLLM's `thinking_blocks`, Ollama's `thinking`.
 */
function reasoningOf(delta: Record<string, unknown>): string {
  const { reasoning_content, reasoning } = delta
  if (typeof reasoning_content === 'string' && reasoning_content !== '') return reasoning_content
  if (typeof reasoning === 'string' && reasoning !== '') return reasoning
  const { reasoning_details, thinking, thinking_blocks } = delta
  if (reasoning_details == null && thinking == null && thinking_blocks == null) return ''
  return textsOf(thinking) || textsOf(reasoning_details) || textsOf(thinking_blocks)
}

/** A text, or the texts of a list of parts. Encrypted parts have none. */
function textsOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return ''
  let text = ''
  for (const item of value) {
    const part = asRecord(item)
    const piece = part?.text ?? part?.summary ?? part?.thinking
    if (typeof piece === 'string') text += piece
  }
  return text
}
