import { ApiError } from '../../platform/errors.ts'
import { parseJson } from '../../platform/json/parse.ts'
import { asRecord, jsonIn } from '../../platform/json/record.ts'
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
    found.set(call, (text.length > PARSED_MAX ? await longObjectIn(text, signal) : objectIn(text)) ?? {})
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
  if (length > PARSED_MAX) return brokenInTurns(calls, signal).then((broken) => replaced(messages, broken))
  return replaced(messages, new Set(calls.filter(isBroken)))
}

/** So many characters take up to 20 ms to parse at once, as brackets within brackets (2026-11-26, two cores). */
const PARSED_MAX = 64 * 1024

/** Of arguments that are longer and stay text, only the ends are looked at. */
function isBroken({ function: { arguments: text } }: ChatToolCall): boolean {
  if (text.length > PARSED_MAX) return !(text.trimStart().startsWith('{') && text.trimEnd().endsWith('}'))
  return objectIn(text) === null
}

async function brokenInTurns(calls: readonly ChatToolCall[], signal: AbortSignal | undefined) {
  const turn = turnTaker(1, signal)
  const broken = new Set<ChatToolCall>()
  for (const call of calls) {
    if (isBroken(call)) broken.add(call)
    const other = turn()
    if (other) await other
  }
  return broken
}

function replaced(messages: readonly ChatMessage[], broken: ReadonlySet<ChatToolCall>): readonly ChatMessage[] {
  if (broken.size === 0) return messages
  const whole = (call: ChatToolCall): ChatToolCall =>
    broken.has(call) ? { ...call, function: { ...call.function, arguments: '{}' } } : call
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
async function longObjectIn(written: string, signal: AbortSignal | undefined): Promise<Record<string, unknown> | null> {
  try {
    return asRecord(await parseJson(Buffer.from(written), { repair: ALL_TEXT, ...(signal && { signal }) }))
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}

const ALL_TEXT = { except: new Set<string>(), within: new Set<string>() }

function objectIn(written: string): Record<string, unknown> | null {
  return asRecord(jsonIn(written))
}
