import type { Context } from '../context.ts'
import type { ChatMessage, ChatPart } from '../engines/chat/contract.ts'
import { ApiError } from '../platform/errors.ts'
import { mapInTurns } from '../platform/turns.ts'
import { jsonTextOf } from './check.ts'
import { resolveParts } from './parts/resolve.ts'
import type { BodyPart } from './parts/schema.ts'
import type { PartSource, PartWork } from './parts/source.ts'
import type { BodyMessage } from './schema.ts'

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
  const shown: Shown[] = []
  let openCalls: ReadonlySet<string> = NO_CALLS
  const resolve = (message: BodyMessage, i: number): ChatMessage => {
    if (message.role === 'tool') requireCall(openCalls, i, message.tool_call_id)
    else openCalls = callsOf(message)
    const param = `messages[${i}].content`
    if (message.role === 'user') return userMessage(message, param, media)
    if (message.role !== 'tool') return plainMessage(message, `messages[${i}]`)
    const { parts, ...answer } = toolMessage(message, param, media)
    if (parts.length > 0) shown.push({ parts, after: i })
    return answer
  }
  const resolved = await mapInTurns(messages, resolve, left)
  if (media.length > 0) await placeMedia(ctx, conversation, media, left)
  return shown.length > 0 ? withShown(resolved, shown) : resolved
}

/** Media of the tool message at `after`. */
type Shown = { parts: ChatPart[]; after: number }

/** Only a message of the user may hold media: those of tool messages follow in one, behind all answers to the same calls. */
function withShown(messages: readonly ChatMessage[], shown: readonly Shown[]): ChatMessage[] {
  const byMessage = new Map(shown.map(({ parts, after }) => [after, parts]))
  let waiting: ChatPart[] = []
  return messages.flatMap((message, i): ChatMessage[] => {
    waiting.push(...(byMessage.get(i) ?? []))
    if (waiting.length === 0 || messages[i + 1]?.role === 'tool') return [message]
    const content = waiting
    waiting = []
    return [message, { role: 'user', content }]
  })
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

function plainMessage(message: Exclude<BodyMessage, { role: 'user' | 'tool' }>, path: string): ChatMessage {
  if (message.role === 'assistant') return assistantMessage(message, path)
  return { role: message.role, content: textOf(message.content), ...named(message) }
}

/** `parts` are its media. Servers that take no empty list take an empty text. */
function toolMessage(
  { tool_call_id, content = '' }: Extract<BodyMessage, { role: 'tool' }>,
  param: string,
  media: Media[],
): Extract<ChatMessage, { role: 'tool' }> & { parts: ChatPart[] } {
  if (!Array.isArray(content)) return { role: 'tool', tool_call_id, content: jsonTextOf(content, param), parts: [] }
  const texts = content.filter((part) => part.type === 'text')
  const parts: ChatPart[] = []
  for (const [j, part] of content.entries()) {
    if (part.type !== 'text') addMedia(parts, sourceOf(part, `${param}[${j}]`), media)
  }
  return { role: 'tool', tool_call_id, content: texts.length > 0 ? textOf(texts) : '', parts }
}

/** Reserves a place in `content` for media that are resolved later. */
function addMedia(content: ChatPart[], source: PartSource, media: Media[]): void {
  media.push({ source, content, at: content.length })
  content.push({ type: 'text', text: '' })
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
    addMedia(content, sourceOf(part, `${param}[${j}]`), media)
  }
  return { role: 'user', content, ...named(message) }
}

function assistantMessage(message: Extract<BodyMessage, { role: 'assistant' }>, path: string): ChatMessage {
  const { content, tool_calls, reasoning_content } = message
  const parts = Array.isArray(content)
    ? content.filter((part) => part.type === 'text' || part.type === 'output_text')
    : content
  const texts = Array.isArray(parts) && parts.length === 0 ? undefined : parts
  const refused = Array.isArray(content) ? content.find((part) => part.type === 'refusal')?.refusal : undefined
  const refusal = message.refusal ?? refused
  const reasoning = reasoning_content ?? message.reasoning
  return {
    role: 'assistant',
    content: texts === undefined ? (tool_calls?.length || refusal !== undefined ? null : '') : textOf(texts),
    ...named(message),
    ...(tool_calls?.length
      ? {
          tool_calls: tool_calls.map(({ id, function: { name, arguments: given = '' }, extra_content }, i) => ({
            id,
            type: 'function',
            function: { name, arguments: jsonTextOf(given, `${path}.tool_calls[${i}].function.arguments`) || '{}' },
            ...(extra_content && { extra_content }),
          })),
        }
      : {}),
    ...(refusal === undefined ? {} : { refusal }),
    ...(reasoning === undefined ? {} : { reasoning }),
  }
}

function textOf(content: string | ReadonlyArray<{ type: 'text' | 'output_text'; text: string }>) {
  return typeof content === 'string' ? content : content.map(({ text }) => ({ type: 'text' as const, text }))
}

function named({ name }: { name?: string }): { name?: string } {
  return name === undefined ? {} : { name }
}

function sourceOf(part: Exclude<BodyPart, { type: 'text' }>, path: string): PartSource {
  const blame = `${path}.type`
  switch (part.type) {
    case 'image_url': {
      const detail = typeof part.image_url === 'string' ? undefined : part.image_url.detail
      const address = addressOf(part.image_url, `${path}.image_url`)
      return { from: 'url', family: 'image', ...address, ...(detail && { detail }), blame }
    }
    case 'video_url':
      return { from: 'url', family: 'video', ...addressOf(part.video_url, `${path}.video_url`), blame }
    case 'audio_url':
      return { from: 'url', family: 'audio', ...addressOf(part.audio_url, `${path}.audio_url`), blame }
    case 'input_audio':
      return { from: 'sound', data: part.input_audio.data, param: `${path}.input_audio.data`, blame }
    case 'file':
      return fileSource(part.file, `${path}.file`)
  }
}

function addressOf(media: string | { url: string }, path: string): { url: string; param: string } {
  return typeof media === 'string' ? { url: media, param: path } : { url: media.url, param: `${path}.url` }
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
