import type { Context } from '../context.ts'
import type { ChatMessage, ChatPart } from '../engines/chat/contract.ts'
import { ApiError } from '../platform/errors.ts'
import { mapInTurns } from '../platform/turns.ts'
import { resolveParts } from './parts/resolve.ts'
import type { PartSource, PartWork } from './parts/source.ts'
import type { BodyMessage, BodyPart } from './schema.ts'

export type Conversation = PartWork & { messages: readonly BodyMessage[] }

/**
 * The messages for the engine: known members only, with files resolved. Throws ApiError 400 with the path of the part at fault, also for
 * media that the model does not accept. Source: contract 9.2.
 */
export async function resolveMessages(
  ctx: Context,
  conversation: Conversation,
  left: AbortSignal,
): Promise<ChatMessage[]> {
  const { messages } = conversation
  const media: Media[] = []
  let openCalls: ReadonlySet<string> = NO_CALLS
  const resolved = await mapInTurns(messages, (message, i): ChatMessage => {
    if (message.role === 'tool') requireCall(openCalls, i, message.tool_call_id)
    else openCalls = callsOf(message)
    if (message.role === 'assistant') requireContent(message, i)
    return message.role === 'user' ? userMessage(message, `messages[${i}].content`, media) : plainMessage(message)
  })
  if (media.length > 0) await placeMedia(ctx, conversation, media, left)
  return resolved
}

/** A media part that is not resolved yet, and its index in the content of its message. */
type Media = { source: PartSource; content: ChatPart[]; at: number }

async function placeMedia(
  ctx: Context,
  conversation: Conversation,
  media: readonly Media[],
  left: AbortSignal,
): Promise<void> {
  const sources = media.map(({ source }) => source)
  const parts = await resolveParts(ctx, conversation, sources, left)
  const placed = new Map<ChatPart[], Map<number, ChatPart[]>>()
  for (const [i, { content, at }] of media.entries()) {
    const own = placed.get(content) ?? new Map<number, ChatPart[]>()
    placed.set(content, own.set(at, parts[i]!))
  }
  for (const [content, own] of placed) {
    const parts = content.flatMap((part, at) => own.get(at) ?? [part])
    content.length = 0
    for (const part of parts) content.push(part)
  }
}

function plainMessage(message: Exclude<BodyMessage, { role: 'user' }>): ChatMessage {
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: message.role, content: textOf(message.content), ...named(message) }
    case 'tool':
      return { role: 'tool', tool_call_id: message.tool_call_id, content: textOf(message.content) }
    case 'assistant':
      return assistantMessage(message)
  }
}

/** Adds media parts to `media`, to be resolved together. */
function userMessage(message: Extract<BodyMessage, { role: 'user' }>, param: string, media: Media[]): ChatMessage {
  if (typeof message.content === 'string') return { role: 'user', content: message.content, ...named(message) }
  const content: ChatPart[] = []
  for (const [j, part] of message.content.entries()) {
    if (part.type === 'text') {
      content.push({ type: 'text', text: part.text })
      continue
    }
    media.push({ source: sourceOf(part, `${param}[${j}]`), content, at: content.length })
    content.push({ type: 'text', text: '' })
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
      ? {
          tool_calls: tool_calls.map(({ id, function: { name, arguments: text }, extra_content }) => ({
            id,
            type: 'function',
            function: { name, arguments: text },
            ...(extra_content && { extra_content }),
          })),
        }
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

function requireContent(message: Extract<BodyMessage, { role: 'assistant' }>, i: number): void {
  const { content, tool_calls, refusal } = message
  if (content !== undefined || tool_calls?.length || refusal !== undefined) return
  const param = `messages[${i}].content`
  throw new ApiError('missing_required_parameter', `Missing required parameter: '${param}'.`, { param })
}

function sourceOf(part: Exclude<BodyPart, { type: 'text' }>, path: string): PartSource {
  const blame = `${path}.type`
  switch (part.type) {
    case 'image_url': {
      const { url, detail } = part.image_url
      return { from: 'url', family: 'image', url, ...(detail && { detail }), param: `${path}.image_url.url`, blame }
    }
    case 'video_url':
      return { from: 'url', family: 'video', url: part.video_url.url, param: `${path}.video_url.url`, blame }
    case 'audio_url':
      return { from: 'url', family: 'audio', url: part.audio_url.url, param: `${path}.audio_url.url`, blame }
    case 'input_audio': {
      const { data, format } = part.input_audio
      return { from: 'sound', data, format, param: `${path}.input_audio.data`, blame }
    }
    case 'file':
      return fileSource(part.file, `${path}.file`)
  }
}

function fileSource(file: Extract<BodyPart, { type: 'file' }>['file'], path: string): PartSource {
  const { file_id, file_data, filename } = file
  if (file_id !== undefined && file_data !== undefined) {
    throw new ApiError('invalid_value', `Invalid '${path}': give either 'file_id' or 'file_data', not both.`, {
      param: path,
    })
  }
  if (file_id !== undefined) return { from: 'file_id', file_id, param: `${path}.file_id`, blame: path }
  if (file_data !== undefined) {
    return {
      from: 'file_data',
      file_data,
      ...(filename !== undefined && { filename }),
      param: `${path}.file_data`,
      blame: path,
    }
  }
  const param = `${path}.file_id`
  throw new ApiError('missing_required_parameter', `Missing required parameter: '${param}'.`, { param })
}

const NO_CALLS: ReadonlySet<string> = new Set()

function callsOf(message: BodyMessage): ReadonlySet<string> {
  if (message.role !== 'assistant' || !message.tool_calls?.length) return NO_CALLS
  return new Set(message.tool_calls.map(({ id }) => id))
}

/** A tool message answers a call of the last assistant message; only other tool messages may be between them. */
function requireCall(calls: ReadonlySet<string>, i: number, id: string): void {
  if (calls.has(id)) return
  const param = `messages[${i}].tool_call_id`
  const text = `Invalid '${param}': no tool call '${id.slice(0, 64)}' in the assistant message before. Each tool message answers one of its 'tool_calls'.`
  throw new ApiError('invalid_value', text, { param })
}
