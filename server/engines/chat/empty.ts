import type { ChatMessage, ChatPart } from './contract.ts'

/**
 * The conversation without what says nothing, which some servers reject: empty texts beside other parts, and messages of the assistant without
 * text, refusal, calls and, where it is sent, `reasoning`. An empty completion of ours comes back as such a message. The user's messages before
 * and after it become one, with `merged` all that follow each other, since many chat templates take no two in a row.
 * Source: https://github.com/lobehub/lobehub/pull/8419, https://github.com/BerriAI/litellm/issues/42186,
 * https://github.com/charmbracelet/crush/issues/279
 */
export function withoutEmptyMessages(
  messages: readonly ChatMessage[],
  { reasoning, merged }: { reasoning: boolean; merged: boolean },
): readonly ChatMessage[] {
  const kept: ChatMessage[] = []
  /** The parts of the last message, where it was joined here: more of them are added in place, so that many messages cost no more. */
  let own: ChatPart[] | null = null
  let isAfterEmpty = false
  for (const message of messages) {
    const full = withoutEmptyTexts(message)
    if (saysNothing(full, reasoning)) {
      isAfterEmpty = true
      continue
    }
    const last = kept.at(-1)
    if ((merged || isAfterEmpty) && last?.role === 'user' && full.role === 'user' && last.name === full.name) {
      const content = joined(own ?? last.content, full.content, own)
      own = typeof content === 'string' ? null : content
      kept[kept.length - 1] = { ...last, content }
    } else {
      kept.push(full)
      own = null
    }
    isAfterEmpty = false
  }
  return kept.length > 0 ? kept : messages
}

function saysNothing(message: ChatMessage, reasoning: boolean): boolean {
  if (message.role !== 'assistant' || message.refusal || message.tool_calls?.length) return false
  if (reasoning && message.reasoning) return false
  const { content } = message
  return typeof content === 'string' ? isBlank(content) : (content ?? []).every(({ text }) => isBlank(text))
}

/** White space alone is rejected by Anthropic, too. Source: https://github.com/anomalyco/opencode/issues/31259 */
export function isBlank(text: string): boolean {
  return !/\S/.test(text)
}

/** Content of empty texts alone is an empty text. */
function withoutEmptyTexts<M extends ChatMessage>(message: M): M {
  const { content } = message
  if (typeof content === 'string' || content === null) return message
  const parts: ChatPart[] = content
  const full = parts.filter((part) => part.type !== 'text' || part.text !== '')
  if (full.length === parts.length) return message
  return { ...message, content: full.length > 0 ? full : '' }
}

function joined(before: string | ChatPart[], after: string | ChatPart[], own: ChatPart[] | null): string | ChatPart[] {
  if (typeof before === 'string' && typeof after === 'string') return `${before}\n\n${after}`
  const parts = own ?? [...partsOf(before)]
  for (const part of partsOf(after)) parts.push(part)
  return parts
}

/** Content as parts. */
export function partsOf(content: string | ChatPart[]): ChatPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}
