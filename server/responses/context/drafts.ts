import { resolveParts } from '../../chat/parts/parts.ts'
import type { PartWork } from '../../chat/parts/source.ts'
import type { Context } from '../../context.ts'
import type { ChatMessage, ChatPart, ChatToolCall, TextPart } from '../../engines/chat/contract.ts'
import { ApiError } from '../../platform/errors.ts'
import type { ToolName } from '../request/tool-names.ts'
import type { ContextItem, Item, MessageItem } from '../schema/items.ts'
import type { MessagePart } from '../schema/parts.ts'
import { isMedium, type MediumPart, mediaOf } from './draft-parts.ts'
import { unseal } from './seal.ts'

/**
 * What one item is to a model server, before neighbours are put together. `media` of instructions and of outputs stand in a message of
 * the user, the only one that takes them.
 */
export type Draft =
  | { kind: 'message'; message: Extract<ChatMessage, { role: 'system' | 'developer' | 'user' }>; media: ChatPart[] }
  | { kind: 'said'; content: string | TextPart[] | null; refusal: string | undefined }
  | { kind: 'call'; call: ChatToolCall }
  | { kind: 'output'; call_id: string; text: string; media: ChatPart[] }
  /** Null when it cannot be read: as if it were not there. */
  | { kind: 'thought'; text: string | null }

export type DraftWork = PartWork & { nameOf(tool: ToolName): string }

/**
 * Every item of the context as a draft, in order; files of all of them are looked up in one query. Throws ApiError 400 with the path of
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
  const resolved = new Map<MediumPart, readonly ChatPart[]>(media.map(({ part }, i) => [part, parts[i]!]))
  return draftAll(ctx, work, context, (part) => resolved.get(part)!)
}

/** The same without looking at any file: a picture is a picture, and a document nothing, so that no item is larger than it will be. */
export function sketchItems(
  ctx: Pick<Context, 'secrets'>,
  work: Pick<DraftWork, 'org_id' | 'nameOf'>,
  context: readonly ContextItem[],
): Draft[] {
  return draftAll(ctx, work, context, (part) => (part.type === 'input_image' ? [UNSEEN] : []))
}

const UNSEEN: ChatPart = { type: 'image_url', image_url: { url: '' } }

function draftAll(
  { secrets }: Pick<Context, 'secrets'>,
  { org_id, nameOf }: Pick<DraftWork, 'org_id' | 'nameOf'>,
  context: readonly ContextItem[],
  resolved: ResolvePart,
): Draft[] {
  return context.map(({ item, path }) => draftOf(item, { path, resolved, owner: { secrets, org_id }, nameOf }))
}

type ResolvePart = (part: MediumPart) => readonly ChatPart[]

/** Leads what a compaction item holds, so that the model takes it for what it is. */
const SUMMARY_LEAD = 'Summary of the conversation before this point:\n\n'

type Around = { path: string; resolved: ResolvePart; owner: { secrets: readonly string[]; org_id: string } } & Pick<
  DraftWork,
  'nameOf'
>

function draftOf(item: Item, { path, resolved, owner, nameOf }: Around): Draft {
  switch (item.type) {
    case 'message':
      return item.role === 'assistant' ? saidDraft(item) : messageDraft(item.role, item.content, resolved)
    case 'function_call':
      return { kind: 'call', call: callOf(item.call_id, nameOf(item), item.arguments) }
    case 'custom_tool_call':
      return { kind: 'call', call: callOf(item.call_id, nameOf(item), JSON.stringify({ input: item.input })) }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return outputDraft(item, resolved)
    case 'reasoning': {
      const sealed = item.encrypted_content
      const { secrets, org_id } = owner
      const text = sealed === undefined ? null : unseal(secrets, { org_id, purpose: 'reasoning' }, sealed)
      return { kind: 'thought', text: text === '' ? null : text }
    }
    case 'compaction': {
      const { secrets, org_id } = owner
      const summary = unseal(secrets, { org_id, purpose: 'compaction' }, item.encrypted_content)
      if (summary === null) throw unreadable(path)
      return { kind: 'message', message: { role: 'developer', content: SUMMARY_LEAD + summary }, media: [] }
    }
  }
}

function callOf(id: string, name: string, text: string): ChatToolCall {
  return { id, type: 'function', function: { name, arguments: text } }
}

function saidDraft({ content }: MessageItem): Draft {
  const texts = textsOf(content)
  const refusal = content.find((part) => part.type === 'refusal')?.refusal
  return { kind: 'said', content: texts.length > 0 || refusal === undefined ? plain(texts) : null, refusal }
}

function messageDraft(
  role: 'system' | 'developer' | 'user',
  content: readonly MessagePart[],
  resolved: ResolvePart,
): Draft {
  const parts = content.flatMap((part): readonly ChatPart[] => {
    if (isMedium(part)) return resolved(part)
    return 'text' in part ? [{ type: 'text', text: part.text }] : []
  })
  if (role === 'user') {
    const texts = parts.every((part) => part.type === 'text')
    return { kind: 'message', message: { role, content: texts ? plain(parts as TextPart[]) : parts }, media: [] }
  }
  const { texts, media } = apart(parts)
  return { kind: 'message', message: { role, content: plain(texts) }, media }
}

function outputDraft(
  { call_id, output }: Extract<Item, { type: 'function_call_output' | 'custom_tool_call_output' }>,
  resolved: ResolvePart,
): Draft {
  if (typeof output === 'string') return { kind: 'output', call_id, text: output, media: [] }
  const parts = output.flatMap((part): readonly ChatPart[] =>
    isMedium(part) ? resolved(part) : [{ type: 'text', text: part.text }],
  )
  const { texts, media } = apart(parts)
  return { kind: 'output', call_id, text: texts.map(({ text }) => text).join('\n'), media }
}

function apart(parts: readonly ChatPart[]): { texts: TextPart[]; media: ChatPart[] } {
  return {
    texts: parts.filter((part) => part.type === 'text'),
    media: parts.filter((part) => part.type !== 'text'),
  }
}

function textsOf(content: readonly MessagePart[]): TextPart[] {
  return content.flatMap((part) => ('text' in part ? [{ type: 'text' as const, text: part.text }] : []))
}

/** One text is told as such: some servers take nothing else. */
function plain(texts: TextPart[]): string | TextPart[] {
  return texts.length > 1 ? texts : (texts[0]?.text ?? '')
}

function unreadable(path: string): ApiError {
  const param = path.startsWith('input[') ? `${path}.encrypted_content` : path
  const text =
    'The encrypted content of this compaction cannot be read. It must come unchanged from POST /v1/responses/compact of the same organization.'
  return new ApiError('invalid_encrypted_content', text, { param })
}
