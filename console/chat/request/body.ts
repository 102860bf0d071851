import type { ChatModel } from '../../api/chat-models.ts'
import type { Attachment, Conversation, Message } from '../conversation/conversation.ts'
import { hasContent } from '../conversation/conversation.ts'
import { type Parameters, readSettings } from './read-settings.ts'

type Part =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string } }
  | { type: 'file'; file: { file_id: string } }

export type BodyMessage =
  | { role: 'system' | 'user'; content: string }
  | { role: 'user'; content: Part[] }
  | { role: 'assistant'; content: string | null; refusal?: string; reasoning_content?: string; tool_calls?: object[] }
  | { role: 'tool'; tool_call_id: string; content: string }

export type ChatBody = Parameters & {
  model: string
  messages: BodyMessage[]
  stream: true
  stream_options: { include_usage: true }
}

/** The request body of a conversation, for the page and for the programs it shows. */
export function bodyOf(
  { settings, messages }: Pick<Conversation, 'settings' | 'messages'>,
  model: ChatModel,
): ChatBody {
  const system = settings.system.trim()
  return {
    model: model.id,
    messages: [
      ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
      ...messages.flatMap(bodyMessages),
    ],
    ...readSettings(settings, model).parameters,
    stream: true,
    stream_options: { include_usage: true },
  }
}

/** The messages of one turn: an answer is followed by its tool results. Empty answers are left out. */
function bodyMessages(message: Message): BodyMessage[] {
  if (message.role === 'user') {
    const { text, attachments } = message
    if (attachments.length === 0) return [{ role: 'user', content: text }]
    const parts: Part[] = attachments.map(partOf)
    return [{ role: 'user', content: text.trim() === '' ? parts : [...parts, { type: 'text', text }] }]
  }
  if (!hasContent(message)) return []
  const { text, refusal, reasoning, tool_calls } = message
  const calls = tool_calls.map(({ id, name, arguments: text }) => ({
    ...{ id, type: 'function', function: { name, arguments: text } },
  }))
  const answer: BodyMessage = {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(refusal !== '' && { refusal }),
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  const results = tool_calls.flatMap(({ id, result }): BodyMessage[] =>
    result === null ? [] : [{ role: 'tool', tool_call_id: id, content: result }],
  )
  return [answer, ...results]
}

function partOf({ source }: Attachment): Part {
  return source.from === 'data'
    ? { type: 'image_url', image_url: { url: source.url } }
    : { type: 'file', file: { file_id: source.file_id } }
}
