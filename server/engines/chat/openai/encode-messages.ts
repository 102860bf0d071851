import { asRecord } from '../../../platform/json/record.ts'
import { portableCallId } from '../call-id.ts'
import type { ChatMessage, ChatPart, ChatToolCall, TextPart } from '../contract.ts'
import type { RequestForm } from './form/request-form.ts'

/** One message as it goes on the wire, each member by its name. */
export function encodeMessage(message: ChatMessage, form: RequestForm): object {
  switch (message.role) {
    case 'system':
    case 'developer': {
      const role = message.role === 'developer' && form.developer_role ? 'developer' : 'system'
      return { role, content: encodeContent(message.content), name: message.name }
    }
    case 'user':
      return { role: 'user', content: encodeContent(message.content), name: message.name }
    case 'tool':
      return { role: 'tool', tool_call_id: callId(message.tool_call_id, form), content: encodeContent(message.content) }
    case 'assistant':
      return encodeAssistant(message, form)
  }
}

/** An assistant message without content is only taken with tool calls, so a refusal, or an empty text, takes its place. */
function encodeAssistant(message: Extract<ChatMessage, { role: 'assistant' }>, form: RequestForm): object {
  const { content, refusal, tool_calls } = message
  const calls =
    tool_calls !== undefined && tool_calls.length > 0 ? tool_calls.map((call) => encodeCall(call, form)) : undefined
  const reasoning = form.reasoning_content_input ? message.reasoning : undefined
  const is_missing = form.reasoning_content_input && calls !== undefined && !reasoning
  return {
    role: 'assistant',
    content: calls === undefined ? encodeContent(content || (refusal ?? '')) : content && encodeContent(content),
    name: message.name,
    tool_calls: calls,
    refusal,
    reasoning_content: is_missing ? BLANK_REASONING : reasoning,
    reasoning,
    reasoning_details: form.refused.has('reasoning_details') ? undefined : sealedOf(tool_calls ?? []),
  }
}

/** OpenRouter's encrypted reasoning, which its calls carry for it: see `endMessage`. */
function sealedOf(calls: readonly ChatToolCall[]): unknown[] | undefined {
  const details = calls.flatMap(({ extra_content }) => asRecord(extra_content?.openrouter)?.reasoning_details ?? [])
  return details.length > 0 ? details : undefined
}

/**
 * DeepSeek and Kimi refuse every request with a call of the model that has no reasoning, or an empty one: the client dropped it, another model
 * made the call, or this one did not think. Source: https://github.com/earendil-works/pi/issues/4251
 */
const BLANK_REASONING = ' '

function encodeCall(call: ChatToolCall, form: RequestForm): object {
  const { id, function: called, extra_content } = call
  return {
    id: callId(id, form),
    type: 'function',
    function: { name: called.name, arguments: called.arguments },
    extra_content:
      form.refused.has('extra_content') || extra_content?.openrouter !== undefined ? undefined : extra_content,
  }
}

/**
 * Servers want the ids that they gave, but some take no others: OpenAI none over 40 characters, Mistral 9 letters and digits, Anthropic none
 * with the dots and colons of Kimi. Those get ids that every one takes.
 */
function callId(id: string, { refused }: RequestForm): string {
  return refused.has('call_ids') ? portableCallId(id) : id
}

function encodeContent(content: string | Array<TextPart | ChatPart>): unknown {
  return typeof content === 'string' ? content : content.map(encodePart)
}

function encodePart(part: ChatPart): object {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'image_url':
      return { type: 'image_url', image_url: { url: part.image_url.url, detail: part.image_url.detail } }
    case 'video_url':
      return { type: 'video_url', video_url: { url: part.video_url.url } }
    case 'audio_url':
      return { type: 'audio_url', audio_url: { url: part.audio_url.url } }
    case 'input_audio':
      return { type: 'input_audio', input_audio: { data: part.input_audio.data, format: part.input_audio.format } }
  }
}
