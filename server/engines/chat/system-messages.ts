import Type from 'typebox'
import type { ChatMessage, TextPart } from './contract.ts'
import { withoutEmptyMessages } from './empty.ts'

/**
 * Option of chat engines. `separate`: messages stay as they are. Default: system and developer messages are one at the start, and messages of
 * the user in a row are one.
 */
export const SystemMessages = Type.Optional(Type.Enum(['merged', 'separate']))

/** `assistant_after_tool`: the server takes no message of the user after one of a tool. `reasoning`: it is sent. */
export type MessageOrder = {
  system_messages: 'merged' | 'separate'
  assistant_after_tool: boolean
  reasoning: boolean
}

/** The messages in an order that the server takes, without those that say nothing. */
export function orderedMessages(messages: readonly ChatMessage[], order: MessageOrder): readonly ChatMessage[] {
  const { reasoning, assistant_after_tool } = order
  const merged = order.system_messages === 'merged'
  const kept = withoutEmptyMessages(merged ? withOneSystemMessage(messages) : messages, { reasoning, merged })
  return assistant_after_tool ? withAssistantAfterTool(kept) : kept
}

/** Source: https://github.com/zed-industries/zed/pull/31736 */
function withAssistantAfterTool(messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.flatMap((message, i) =>
    message.role === 'user' && messages[i - 1]?.role === 'tool'
      ? [{ role: 'assistant' as const, content: 'Understood.' }, message]
      : [message],
  )
}

type Instruction = Extract<ChatMessage, { role: 'system' | 'developer' }>

/**
 * The conversation with its system and developer messages as one at the start, in order: chat templates reject any other. The message has
 * the role of the first of them, and its name if it is the only one.
 * Source: https://github.com/vllm-project/vllm/issues/41114, https://github.com/QwenLM/Qwen3.8/issues/244
 */
function withOneSystemMessage(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const instructions = messages.filter(isInstruction)
  const [first] = instructions
  if (first === undefined || (instructions.length === 1 && first === messages[0])) return messages
  const others = messages.filter((message) => !isInstruction(message))
  if (instructions.length === 1) return [first, ...others]
  const content = joinInstructions(instructions.map((each) => textOf(each.content)))
  return [{ role: first.role, content }, ...others]
}

/** The texts of several system messages as one, without those that are blank. */
export function joinInstructions(texts: readonly string[]): string {
  return texts.filter((text) => text.trim() !== '').join('\n\n')
}

function isInstruction(message: ChatMessage): message is Instruction {
  return message.role === 'system' || message.role === 'developer'
}

/** Parts are joined as vLLM joins them for templates of plain text. */
function textOf(content: string | TextPart[]): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('\n')
}
