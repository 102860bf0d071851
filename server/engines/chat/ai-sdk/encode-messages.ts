import type { ParsedArguments } from '../call-arguments.ts'
import { portableCallId } from '../call-id.ts'
import type { ChatMessage, ChatPart, ChatToolCall, TextPart } from '../contract.ts'
import { isBlank, partsOf } from '../empty.ts'
import { metadataOf } from './extra-content.ts'
import type { FilePart, PromptMessage, ToolCallPart } from './model.ts'
import { refused } from './refused.ts'

/**
 * The messages as the AI SDK takes them: results of tools in a row are one message, since Gemini wants as many of them in one turn as the turn
 * before it has calls. Earlier reasoning is left out: providers take it back only with a signature of theirs, which a chat request does not
 * carry. Source: https://github.com/epam/ai-dial-adapter-vertexai/issues/214. Throws EngineError `rejected` for what cannot be sent.
 */
export function encodeMessages(messages: readonly ChatMessage[], inputs: ParsedArguments): PromptMessage[] {
  const calls: Calls = { inputs, names: new Map() }
  const prompt: PromptMessage[] = []
  for (const message of messages) {
    const encoded = encodeMessage(message, calls)
    const last = prompt.at(-1)
    if (encoded.role === 'tool' && last?.role === 'tool') last.content.push(...encoded.content)
    else prompt.push(encoded)
  }
  return prompt
}

/** `names`: of the tools, by the ids of the calls so far. */
type Calls = { inputs: ParsedArguments; names: Map<string, string> }

function encodeMessage(message: ChatMessage, calls: Calls): PromptMessage {
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: textOf(message.content) }
    case 'user':
      return { role: 'user', content: partsOf(message.content).map(encodePart) }
    case 'assistant':
      return { role: 'assistant', content: encodeAssistant(message, calls) }
    case 'tool': {
      const { tool_call_id } = message
      const toolName = calls.names.get(tool_call_id)
      if (toolName === undefined) throw refused('messages', 'a tool result must follow its tool call.')
      const output = { type: 'text' as const, value: textOf(message.content) }
      return { role: 'tool', content: [{ type: 'tool-result', toolCallId: callId(tool_call_id), toolName, output }] }
    }
  }
}

function encodeAssistant(
  { content, refusal, tool_calls = [] }: Extract<ChatMessage, { role: 'assistant' }>,
  { inputs, names }: Calls,
): Extract<PromptMessage, { role: 'assistant' }>['content'] {
  const written = textOf(content ?? '')
  const text = isBlank(written) ? (refusal ?? '') : written
  for (const { id, function: called } of tool_calls) names.set(id, called.name)
  const calls = tool_calls.map((call) => encodeCall(call, inputs.get(call)))
  return [...(isBlank(text) ? [] : [{ type: 'text' as const, text }]), ...calls]
}

function encodeCall({ id, function: { name }, extra_content }: ChatToolCall, input: unknown): ToolCallPart {
  const providerOptions = metadataOf(extra_content)
  return {
    type: 'tool-call',
    toolCallId: callId(id),
    toolName: name,
    input,
    ...(providerOptions && { providerOptions }),
  }
}

/** Anthropic and Bedrock take no other form, and no provider gives another. Source: https://github.com/vercel/ai/issues/5171 */
function callId(id: string): string {
  return /^[\w-]{1,64}$/.test(id) ? id : portableCallId(id)
}

function textOf(content: string | TextPart[]): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('')
}

function encodePart(part: ChatPart): { type: 'text'; text: string } | FilePart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'image_url':
      return encodeFile(part.image_url.url)
    case 'video_url':
      return encodeFile(part.video_url.url)
    case 'audio_url':
      return encodeFile(part.audio_url.url)
    case 'input_audio':
      return filePart(AUDIO_TYPES[part.input_audio.format], part.input_audio.data)
  }
}

const AUDIO_TYPES = {
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  flac: 'audio/flac',
  ogg: 'audio/ogg',
  m4a: 'audio/mp4',
} as const

/** Every URL has become a `data:` URL by now: see `inputs` and `fetches_urls` of the adapter. */
function encodeFile(url: string): FilePart {
  const comma = url.indexOf(',')
  const head = /^data:([^;,]+)(?:;[^,]*)?;base64$/i.exec(url.slice(0, Math.max(comma, 0)))
  if (head === null) throw refused('messages', 'a file must be a data URL in base64 for this model.')
  return filePart(head[1]!.toLowerCase(), url.slice(comma + 1))
}

function filePart(mediaType: string, data: string): FilePart {
  return { type: 'file', mediaType, data: { type: 'data', data } }
}
