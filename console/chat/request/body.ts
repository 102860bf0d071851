import type { ChatModel } from '../../api/chat-models.ts'
import {
  type AssistantMessage,
  type Attachment,
  type Conversation,
  hasContent,
  type Message,
} from '../conversation/conversation.ts'
import { splitHistory } from '../conversation/turns.ts'
import { type Parameters, readSettings } from './read-settings.ts'

export type ResponseBody = Parameters & {
  model: string
  instructions?: string
  previous_response_id?: string
  input: object[]
  stream: true
}

/** The request for the next answer, with the conversation that is not stored yet: that before it is in the response it continues. */
export function continuingBody(now: Conversation, model: ChatModel): ResponseBody {
  const { previous_response_id, added } = splitHistory(now)
  const body = bodyOf({ settings: now.settings, messages: added }, model)
  return { ...body, ...(previous_response_id !== null && { previous_response_id }) }
}

/** The same request with these messages alone, for the programs that the page shows. */
export function bodyOf(
  { settings, messages }: Pick<Conversation, 'settings' | 'messages'>,
  model: ChatModel,
): ResponseBody {
  const system = settings.system.trim()
  return {
    model: model.id,
    ...(system !== '' && { instructions: system }),
    input: messages.flatMap(itemsOf),
    ...readSettings(settings, model).parameters,
    stream: true,
  }
}

/** The items of a message. Empty answers are left out. */
function itemsOf(message: Message): object[] {
  if (message.role === 'tool') {
    const { call_id, output } = message
    return [{ type: 'function_call_output', call_id, output }]
  }
  if (message.role === 'assistant') return answerItems(message)
  const { text, attachments } = message
  if (attachments.length === 0) return [{ role: 'user', content: text }]
  const written = text.trim() === '' ? [] : [{ type: 'input_text', text }]
  return [{ role: 'user', content: [...attachments.map(partOf), ...written] }]
}

/** As the model wrote it, or as it was edited. */
function answerItems(answer: AssistantMessage): object[] {
  const { items, text, refusal, tool_calls } = answer
  if (!hasContent(answer)) return []
  if (items) return items
  const content = [
    ...(text === '' ? [] : [{ type: 'output_text', text }]),
    ...(refusal === '' ? [] : [{ type: 'refusal', refusal }]),
  ]
  return [
    ...(content.length === 0 ? [] : [{ role: 'assistant', content }]),
    ...tool_calls.map((call) => ({ type: 'function_call', ...call })),
  ]
}

function partOf({ kind, name, source }: Attachment): object {
  if (source.from === 'data') return { type: 'input_image', image_url: source.url }
  const { file_id } = source
  return kind === 'image'
    ? { type: 'input_image', file_id }
    : { type: 'input_file', file_id, filename: name.slice(0, 255) }
}
