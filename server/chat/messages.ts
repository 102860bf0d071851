import type { Context } from '../context.ts'
import type { ChatEngine, ChatMessage, ChatPart } from '../engines/chat.ts'
import type { ChatModelConfig } from '../platform/config.ts'
import { ApiError } from '../platform/errors.ts'
import { resolvePart } from './parts.ts'
import type { BodyMessage } from './schema.ts'

export type Conversation = { org_id: string; model: ChatModelConfig; engine: ChatEngine; messages: readonly BodyMessage[] }

/**
 * The messages as the engine is given them: members by name, files resolved, pictures and sounds only where the model takes them.
 * Throws ApiError 400 with the path of what is wrong. Source: contract 9.2.
 */
export async function resolveMessages(ctx: Context, conversation: Conversation, left: AbortSignal): Promise<ChatMessage[]> {
  const { messages } = conversation
  const resolved: ChatMessage[] = []
  for (const [i, message] of messages.entries()) {
    if (message.role === 'tool') requireCall(messages, i, message.tool_call_id)
    if (message.role === 'assistant') requireSaying(message, i)
    const plain = plainMessage(message)
    resolved.push(plain ?? (await userMessage(ctx, conversation, i, left)))
  }
  return resolved
}

/** A message without media; null for a user's parts, which need looking at. */
function plainMessage(message: BodyMessage): ChatMessage | null {
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: message.role, content: textOf(message.content), ...named(message) }
    case 'tool':
      return { role: 'tool', tool_call_id: message.tool_call_id, content: textOf(message.content) }
    case 'assistant':
      return assistantMessage(message)
    case 'user':
      return typeof message.content === 'string' ? { role: 'user', content: message.content, ...named(message) } : null
  }
}

async function userMessage(
  ctx: Context,
  conversation: Conversation,
  index: number,
  left: AbortSignal,
): Promise<ChatMessage> {
  const message = conversation.messages[index] as Extract<BodyMessage, { role: 'user' }>
  const content: ChatPart[] = []
  for (const [i, part] of (message.content as Exclude<typeof message.content, string>).entries()) {
    const param = `messages[${index}].content[${i}]`
    content.push(...(await resolvePart(ctx, conversation, { part, param }, left)))
  }
  return { role: 'user', content, ...named(message) }
}

function assistantMessage(message: Extract<BodyMessage, { role: 'assistant' }>): ChatMessage {
  const { content, tool_calls, reasoning_content } = message
  const texts = Array.isArray(content) ? content.filter((part) => part.type === 'text') : content
  const refused = Array.isArray(content) ? content.find((part) => part.type === 'refusal')?.refusal : undefined
  const refusal = message.refusal ?? refused
  const reasoning = reasoning_content ?? message.reasoning
  return {
    role: 'assistant',
    content: texts === undefined ? null : textOf(texts),
    ...named(message),
    ...(tool_calls?.length
      ? { tool_calls: tool_calls.map(({ id, function: { name, arguments: text } }) => ({ id, type: 'function', function: { name, arguments: text } })) }
      : {}),
    ...(refusal === undefined ? {} : { refusal }),
    ...(reasoning === undefined ? {} : { reasoning }),
  }
}

function textOf(content: string | ReadonlyArray<{ type: 'text'; text: string }>) {
  return typeof content === 'string' ? content : content.map(({ text }) => ({ type: 'text' as const, text }))
}

function named({ name }: { name?: string }): { name?: string } {
  return name === undefined ? {} : { name }
}

function requireSaying(message: Extract<BodyMessage, { role: 'assistant' }>, i: number): void {
  const { content, tool_calls, refusal } = message
  if (content !== undefined || tool_calls?.length || refusal !== undefined) return
  const param = `messages[${i}].content`
  throw new ApiError('missing_required_parameter', `Missing required parameter: '${param}'.`, { param })
}

/** A tool message answers a call of the assistant message before it, other answers to that message between them. */
function requireCall(messages: readonly BodyMessage[], i: number, id: string): void {
  let before = i - 1
  while (messages[before]?.role === 'tool') before--
  const asked = messages[before]
  if (asked?.role === 'assistant' && asked.tool_calls?.some((call) => call.id === id)) return
  const param = `messages[${i}].tool_call_id`
  const text = `Invalid '${param}': no tool call '${id.slice(0, 64)}' in the assistant message before. Each tool message answers one of its 'tool_calls'.`
  throw new ApiError('invalid_value', text, { param })
}
