import { ApiError } from '../../platform/errors.ts'
import { parseJson } from '../../platform/json/parse.ts'
import { asRecord, isRecord, jsonIn } from '../../platform/json/record.ts'
import { turnTaker } from '../../platform/turns.ts'
import type { ChatMessage, ChatToolCall } from './contract.ts'

/** Of each call of a conversation. */
export type ParsedArguments = ReadonlyMap<ChatToolCall, Record<string, unknown>>

/**
 * The arguments of earlier calls as the JSON objects that servers want. An empty one takes the place of what is none: what a model wrote and
 * no client ran, such as half an object, and the `[]` of PHP. Otherwise no later request of the conversation would be taken. They are parsed
 * with other work between, long ones in pieces. `signal`: see `nextTurn`.
 * Source: https://github.com/vllm-project/vllm/issues/43995, https://github.com/nextcloud/integration_openai/pull/243
 */
export async function argumentsOf(messages: readonly ChatMessage[], signal?: AbortSignal): Promise<ParsedArguments> {
  const turn = turnTaker(1, signal)
  const found = new Map<ChatToolCall, Record<string, unknown>>()
  for (const call of callsOf(messages)) {
    const { arguments: text } = call.function
    found.set(call, (await objectIn(text, signal)) ?? (await objectIn(withEscapes(text), signal)) ?? {})
    const other = turn()
    if (other) await other
  }
  return found
}

/** The conversation with such arguments as text. Many are a promise, read with other work between. `signal`: see `nextTurn`. */
export function withObjectArguments(
  messages: readonly ChatMessage[],
  signal?: AbortSignal,
): readonly ChatMessage[] | Promise<readonly ChatMessage[]> {
  const calls = callsOf(messages)
  const length = calls.reduce((sum, call) => sum + call.function.arguments.length, 0)
  if (length > PARSED_MAX) return changedInTurns(calls, signal).then((changed) => replaced(messages, changed))
  return replaced(messages, new Map(calls.flatMap(changedOf)))
}

/** So many characters take up to 20 ms to parse at once, as brackets within brackets (2026-11-26, two cores). */
const PARSED_MAX = 64 * 1024

/** Other arguments, each with its call. */
type Changed = ReadonlyArray<readonly [call: ChatToolCall, text: string]>

/** None for a call whose arguments stay. Of longer ones only the ends are looked at. */
function changedOf(call: ChatToolCall): Changed {
  const { arguments: text } = call.function
  const isLong = text.length > PARSED_MAX
  if (isLong ? text.trimStart().startsWith('{') && text.trimEnd().endsWith('}') : isRecord(jsonIn(text))) return []
  return [[call, JSON.stringify(asRecord(jsonIn(withEscapes(text))) ?? {})]]
}

async function changedInTurns(
  calls: readonly ChatToolCall[],
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<ChatToolCall, string>> {
  const turn = turnTaker(1, signal)
  const changed = new Map<ChatToolCall, string>()
  for (const call of calls) {
    for (const [each, text] of changedOf(call)) changed.set(each, text)
    const other = turn()
    if (other) await other
  }
  return changed
}

function replaced(
  messages: readonly ChatMessage[],
  changed: ReadonlyMap<ChatToolCall, string>,
): readonly ChatMessage[] {
  if (changed.size === 0) return messages
  const whole = (call: ChatToolCall): ChatToolCall => {
    const text = changed.get(call)
    return text === undefined ? call : { ...call, function: { ...call.function, arguments: text } }
  }
  return messages.map((message) =>
    message.role === 'assistant' && message.tool_calls
      ? { ...message, tool_calls: message.tool_calls.map(whole) }
      : message,
  )
}

function callsOf(messages: readonly ChatMessage[]): ChatToolCall[] {
  return messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
}

/** Also null for deeper JSON, or more values, than the body of a request may have. */
async function objectIn(written: string, signal: AbortSignal | undefined): Promise<Record<string, unknown> | null> {
  try {
    return asRecord(await parseJson(Buffer.from(written), { repair: ALL_TEXT, ...(signal && { signal }) }))
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}

const ALL_TEXT = { except: new Set<string>(), within: new Set<string>() }

/**
 * The text with escapes in the place of line breaks within its texts; nothing in that of a long one, which is not looked at. Models write
 * them as they are, which JSON does not allow, and many clients run such a call nevertheless.
 * Source: https://github.com/XpressAI/xaibo/pull/36
 */
function withEscapes(written: string): string {
  if (written.length > PARSED_MAX) return ''
  return written.replace(TEXT, (text) => text.replace(CONTROL, (character) => JSON.stringify(character).slice(1, -1)))
}

/** Also one without its end: nothing is read twice. */
const TEXT = /"(?:[^"\\]|\\.)*(?:"|\\?$)/gs
const CONTROL = /\p{Cc}/gu
