import { resolveParts } from '../../chat/parts/resolve.ts'
import type { PartSource, PartWork } from '../../chat/parts/source.ts'
import type { Context } from '../../context.ts'
import type { ChatMessage, ChatPart, ChatToolCall, ExtraContent, TextPart } from '../../engines/chat/contract.ts'
import { mapInTurns } from '../../platform/turns.ts'
import type { ToolName } from '../request/tools.ts'
import type { ContextItem, CustomToolCall, FunctionCall, Item, MessageItem } from '../schema/items.ts'
import type { InputFile, InputImage, MessagePart } from '../schema/parts.ts'
import { purposeOf, type SealBinding, unsealer } from './seal.ts'

/**
 * One item as the engine takes it, before adjacent items are joined into messages. `media` of instructions and outputs go into a user
 * message, the only kind that may hold them.
 */
export type Draft =
  | { kind: 'message'; message: Extract<ChatMessage, { role: 'system' | 'developer' | 'user' }>; media: ChatPart[] }
  | { kind: 'assistant'; content: string | TextPart[] | null; refusal: string | undefined }
  | { kind: 'call'; call: ChatToolCall }
  | { kind: 'output'; call_id: string; text: string; media: ChatPart[] }
  /** Null when it is left out: it has no encrypted content, or only the `extra_content` of calls, by their ids. */
  | { kind: 'reasoning'; text: string | null; extra_content?: Record<string, ExtraContent> }
  /** What is left out because it cannot be decrypted. */
  | { kind: 'unread' }
  /** What is no part of the conversation. */
  | { kind: 'none' }

export type DraftWork = PartWork & { nameOf(tool: ToolName): string }

/**
 * Every item of the context as a draft, in order; all files are looked up in one query. Throws ApiError 400 with the path of
 * the item at fault. Source: contract 13.
 */
export async function draftItems(
  ctx: Context,
  work: DraftWork,
  context: readonly ContextItem[],
  left: AbortSignal,
): Promise<Draft[]> {
  const media = mediaOf(context)
  const sources = media.map(({ source }) => source)
  const parts = sources.length > 0 ? await resolveParts(ctx, work, sources, left) : []
  const resolved = new Map<MediaPart, readonly ChatPart[]>(media.map(({ part }, i) => [part, parts[i]!]))
  return draftAll(ctx, work, context, { resolved: (part) => resolved.get(part)!, left })
}

/** The same without reading files: an image is a placeholder and a document nothing, so that no item counts more than it will. */
export function draftWithoutFiles(
  ctx: Pick<Context, 'secrets'>,
  work: Pick<DraftWork, 'org_id' | 'nameOf'>,
  context: readonly ContextItem[],
  left: AbortSignal,
): Promise<Draft[]> {
  const resolved = (part: MediaPart) => (part.type === 'input_image' ? [IMAGE_PLACEHOLDER] : [])
  return draftAll(ctx, work, context, { resolved, left })
}

const IMAGE_PLACEHOLDER: ChatPart = { type: 'image_url', image_url: { url: '' } }

function draftAll(
  { secrets }: Pick<Context, 'secrets'>,
  { org_id, nameOf }: Pick<DraftWork, 'org_id' | 'nameOf'>,
  context: readonly ContextItem[],
  { resolved, left }: { resolved: ResolvePart; left: AbortSignal },
): Promise<Draft[]> {
  const unsealText = unsealer(secrets)
  const unseal: Unseal = (purpose, sealed) => unsealText({ org_id, purpose }, sealed)
  const calls = new Map<string, ChatToolCall>()
  const draft = ({ item }: ContextItem): Draft => {
    const drafted = draftOf(item, { resolved, unseal, nameOf })
    if (drafted.kind === 'call') calls.set(drafted.call.id, drafted.call)
    if (drafted.kind === 'reasoning') giveExtraContent(calls, drafted.extra_content)
    return drafted
  }
  return mapInTurns(context, draft, left)
}

/** Gives calls the extra content that the client has sent back in an item of its own: to the last call of each id before it. */
function giveExtraContent(
  calls: ReadonlyMap<string, ChatToolCall>,
  extra_content: Record<string, ExtraContent> = {},
): void {
  for (const [call_id, extra] of Object.entries(extra_content)) {
    const call = calls.get(call_id)
    if (call) call.extra_content ??= extra
  }
}

type Unseal = (purpose: SealBinding['purpose'], sealed: string) => string | null
type ResolvePart = (part: MediaPart) => readonly ChatPart[]

const UNREAD: Draft = { kind: 'unread' }

/** Precedes the summary of a compaction, so that the model recognizes it as one. */
const SUMMARY_LEAD = 'Summary of the conversation before this point:\n\n'

type Drafting = { resolved: ResolvePart; unseal: Unseal } & Pick<DraftWork, 'nameOf'>

function draftOf(item: Item, { resolved, unseal, nameOf }: Drafting): Draft {
  switch (item.type) {
    case 'message':
      return item.role === 'assistant' ? assistantDraft(item) : messageDraft(item.role, item.content, resolved)
    case 'function_call':
      return { kind: 'call', call: callOf(item, nameOf(item), item.arguments) }
    case 'custom_tool_call':
      return { kind: 'call', call: callOf(item, nameOf(item), JSON.stringify({ input: item.input })) }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return outputDraft(item, resolved)
    case 'reasoning': {
      const sealed = item.encrypted_content
      if (sealed === undefined) return { kind: 'reasoning', text: null }
      const purpose = purposeOf(sealed)
      const text = unseal(purpose, sealed)
      if (text === null) return UNREAD
      if (purpose === 'calls') return { kind: 'reasoning', text: null, extra_content: JSON.parse(text) }
      return { kind: 'reasoning', text: text === '' ? null : text }
    }
    case 'compaction': {
      const summary = unseal('compaction', item.encrypted_content)
      if (summary === null) return UNREAD
      return { kind: 'message', message: { role: 'developer', content: SUMMARY_LEAD + summary }, media: [] }
    }
    case 'additional_tools':
      return { kind: 'none' }
  }
}

function callOf({ call_id, extra_content }: FunctionCall | CustomToolCall, name: string, text: string): ChatToolCall {
  const call = { id: call_id, type: 'function' as const, function: { name, arguments: text } }
  return extra_content ? { ...call, extra_content } : call
}

function assistantDraft({ content }: MessageItem): Draft {
  const texts = textsOf(content)
  const refusal = content.find((part) => part.type === 'refusal')?.refusal
  return { kind: 'assistant', content: texts.length > 0 || refusal === undefined ? plainText(texts) : null, refusal }
}

function messageDraft(
  role: 'system' | 'developer' | 'user',
  content: readonly MessagePart[],
  resolved: ResolvePart,
): Draft {
  const parts = content.flatMap((part): readonly ChatPart[] => {
    if (isMedia(part)) return resolved(part)
    return 'text' in part ? [{ type: 'text', text: part.text }] : []
  })
  if (role === 'user') {
    const texts = parts.every((part) => part.type === 'text')
    return { kind: 'message', message: { role, content: texts ? plainText(parts as TextPart[]) : parts }, media: [] }
  }
  const { texts, media } = splitParts(parts)
  return { kind: 'message', message: { role, content: plainText(texts) }, media }
}

function outputDraft(
  { call_id, output }: Extract<Item, { type: 'function_call_output' | 'custom_tool_call_output' }>,
  resolved: ResolvePart,
): Draft {
  if (typeof output === 'string') return { kind: 'output', call_id, text: output, media: [] }
  const parts = output.flatMap((part): readonly ChatPart[] =>
    isMedia(part) ? resolved(part) : [{ type: 'text', text: part.text }],
  )
  const { texts, media } = splitParts(parts)
  return { kind: 'output', call_id, text: texts.map(({ text }) => text).join('\n'), media }
}

function splitParts(parts: readonly ChatPart[]): { texts: TextPart[]; media: ChatPart[] } {
  return {
    texts: parts.filter((part) => part.type === 'text'),
    media: parts.filter((part) => part.type !== 'text'),
  }
}

function textsOf(content: readonly MessagePart[]): TextPart[] {
  return content.flatMap((part) => ('text' in part ? [{ type: 'text' as const, text: part.text }] : []))
}

/** A single text becomes a string: some servers accept nothing else. */
function plainText(texts: TextPart[]): string | TextPart[] {
  return texts.length > 1 ? texts : (texts[0]?.text ?? '')
}

/** A part that refers to an image or a document. */
type MediaPart = InputImage | InputFile

function isMedia(part: MessagePart): part is MediaPart {
  return part.type === 'input_image' || part.type === 'input_file'
}

/** Every image and document of the context, in order, with its source. */
export function mediaOf(context: readonly ContextItem[]): Array<{ part: MediaPart; source: PartSource }> {
  return context.flatMap(({ item, path }) => {
    const { parts, member } = partsOf(item)
    return parts.flatMap((part, i) => {
      if (!isMedia(part)) return []
      return [{ part, source: sourceOf(part, path.startsWith('input[') ? `${path}.${member}[${i}]` : null, path) }]
    })
  })
}

function partsOf(item: Item): { parts: readonly MessagePart[]; member: string } {
  if (item.type === 'message') return { parts: item.content, member: 'content' }
  const hasOutput = item.type === 'function_call_output' || item.type === 'custom_tool_call_output'
  return hasOutput && typeof item.output !== 'string'
    ? { parts: item.output, member: 'output' }
    : { parts: [], member: '' }
}

const NO_AUDIO = 'responses accept no video and no audio. Use POST /v1/chat/completions.'
const REFUSES = { video: NO_AUDIO, audio: NO_AUDIO }
const DOCUMENTS = ['user_data', 'assistants', 'batch', 'fine-tune', 'evals'] as const

/** `place` is the path of the part in the request; null for one of the history, where errors name the whole history. */
function sourceOf(part: MediaPart, place: string | null, path: string): PartSource {
  const at = (member: string) => (place === null ? path : `${place}.${member}`)
  const kind = part.type === 'input_image' ? ('image' as const) : ('file' as const)
  const common = { blame: at('type'), ...(place === null && { of_history: kind }) }
  if (part.type === 'input_image') {
    const { file_id, image_url = '', detail } = part
    return file_id === undefined
      ? { from: 'url', family: 'image', url: image_url, detail, param: at('image_url'), ...common }
      : { from: 'file_id', file_id, detail, purposes: ['vision'], refuses: REFUSES, param: at('file_id'), ...common }
  }
  const { file_id, file_url, file_data = '', filename } = part
  if (file_id !== undefined) {
    const purposes = [...DOCUMENTS, 'vision'] as const
    return { from: 'file_id', file_id, purposes, refuses: REFUSES, param: at('file_id'), ...common }
  }
  const named = filename === undefined ? {} : { filename }
  return file_url === undefined
    ? { from: 'file_data', file_data, ...named, refuses: REFUSES, param: at('file_data'), ...common }
    : { from: 'file_url', url: file_url, ...named, refuses: REFUSES, param: at('file_url'), ...common }
}
