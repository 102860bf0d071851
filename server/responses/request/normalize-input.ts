import { jsonTextOf } from '../../chat/check.ts'
import { ApiError } from '../../platform/errors.ts'
import { mapInTurns } from '../../platform/turns.ts'
import { newItemId } from '../ids.ts'
import type {
  InputEntry,
  InputItem,
  Item,
  ItemReference,
  ItemStatus,
  MessageItem,
  SentMessage,
  SkippedItem,
} from '../schema/items.ts'
import type { InputFile, InputImage, MessagePart, ToolOutputPart } from '../schema/parts.ts'
import type { CreateResponse } from '../schema/response.ts'

type SentInput = NonNullable<CreateResponse['input']>
type SentPart = Exclude<NonNullable<SentMessage['content']>, string>[number]
type SentImage = Extract<SentPart, { type: 'input_image' }>
type SentFile = Extract<SentPart, { type: 'input_file' }>

/**
 * The items of a request in the form in which they are stored and returned: with type, id and full content parts, each with its path. A
 * string is one user message. References are kept, to be resolved later. Throws ApiError 400 for a part with no source, or with two. Rejects
 * once `left` aborts. Source: contract 10.3.
 */
export async function normalizeInput(input: SentInput | undefined, left: AbortSignal): Promise<InputEntry[]> {
  if (input === undefined) return []
  if (typeof input === 'string') {
    return [{ item: messageItem({ role: 'user', content: input }, 'input'), path: 'input' }]
  }
  const normal = (item: InputItem | SkippedItem, i: number): InputEntry | null => {
    if (isSkipped(item) || item.type === 'compaction_trigger') return null
    const path = `input[${i}]`
    return { item: normalItem(item, path), path }
  }
  const entries = await mapInTurns(input, normal, left)
  return entries.filter((entry) => entry !== null)
}

/** Whether a compaction of the context is wanted instead of an answer. Source: contract 11.4. */
export function asksForCompaction(input: SentInput | undefined): boolean {
  return Array.isArray(input) && input.some(({ type }) => type === 'compaction_trigger')
}

/** The types of the items that are not sent to the model. */
export function skippedTypes(input: SentInput | undefined): string[] {
  return skippedOf(input).map(({ of }) => of)
}

/** The calls of the items that are not sent to the model, as outputs refer to them. */
export function skippedCalls(input: SentInput | undefined): Set<string> {
  return new Set(skippedOf(input).flatMap(({ call }) => call ?? []))
}

function skippedOf(input: SentInput | undefined): SkippedItem[] {
  if (input === undefined || typeof input === 'string') return []
  const items: readonly (InputItem | SkippedItem)[] = input
  return items.filter(isSkipped)
}

/** Checking leaves something in the place of items that are not sent to the model, so that the paths of the others stay right. */
function isSkipped(item: InputItem | SkippedItem): item is SkippedItem {
  return item.type === 'skipped'
}

function normalItem(item: Exclude<InputItem, { type: 'compaction_trigger' }>, path: string): Item | ItemReference {
  if (item.type === 'additional_tools') {
    return { id: item.id || newItemId('at'), type: item.type, role: 'developer', tools: item.tools }
  }
  if ('role' in item) return messageItem(item, path)
  switch (item.type) {
    case 'function_call': {
      const { call_id, name, arguments: given = '{}' } = item
      const text = jsonTextOf(given, `${path}.arguments`)
      return { ...headOf(item, 'fc'), type: item.type, call_id, name, arguments: text, ...optionalsOf(item) }
    }
    case 'custom_tool_call': {
      const { call_id, name, input = '' } = item
      return { ...headOf(item, 'ctc'), type: item.type, call_id, name, input, ...optionalsOf(item) }
    }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const { type, call_id } = item
      const head = headOf(item, type === 'function_call_output' ? 'fco' : 'ctco')
      return { ...head, type, call_id, output: outputOf(item.output, `${path}.output`) }
    }
    case 'reasoning': {
      const { id, status, summary = [], content, encrypted_content } = item
      return {
        id: id || newItemId('rs'),
        type: 'reasoning',
        ...(status && { status }),
        summary: summary.map(({ text }) => ({ type: 'summary_text', text })),
        ...(content && { content: content.map(({ text }) => ({ type: 'reasoning_text' as const, text })) }),
        ...(encrypted_content !== undefined && { encrypted_content }),
      }
    }
    case 'compaction':
      return { id: item.id || newItemId('cmp'), type: 'compaction', encrypted_content: item.encrypted_content }
    default:
      return { type: 'item_reference', id: item.id }
  }
}

function headOf(item: { id?: string; status?: ItemStatus }, kind: 'msg' | 'fc' | 'fco' | 'ctc' | 'ctco') {
  return { id: item.id || newItemId(kind), status: item.status ?? ('completed' as const) }
}

type CallOptionals = { namespace?: string; extra_content?: Record<string, unknown> }

function optionalsOf({ namespace, extra_content }: CallOptionals): CallOptionals {
  return { ...(namespace !== undefined && { namespace }), ...(extra_content && { extra_content }) }
}

function messageItem(message: SentMessage, path: string): MessageItem {
  const { role, content = [], phase } = message
  const parts: SentPart[] = typeof content === 'string' ? [{ type: 'input_text', text: content }] : [...content]
  return {
    ...headOf(message, 'msg'),
    type: 'message',
    role,
    content: parts.flatMap((part, i) => messagePart(part, `${path}.content[${i}]`, role)),
    ...(phase && { phase }),
  }
}

/** Reasoning within a message is left out, as are items of it that we cannot read. */
function messagePart(part: SentPart, path: string, role: SentMessage['role']): MessagePart[] {
  switch (part.type) {
    case 'reasoning_text':
    case 'summary_text':
      return []
    case 'refusal':
      return [{ type: 'refusal', refusal: part.refusal }]
    case 'input_image':
    case 'input_file':
      return [mediaPart(part, path)]
    default: {
      const { text } = part
      if (role !== 'assistant') return [{ type: 'input_text', text }]
      const annotations = part.type === 'output_text' ? (part.annotations ?? []) : []
      return [{ type: 'output_text', text, annotations, logprobs: [] }]
    }
  }
}

type SentOutput = Extract<InputItem, { type: 'function_call_output' }>['output']

function outputOf(output: SentOutput = '', path: string): string | ToolOutputPart[] {
  if (typeof output === 'string') return output
  return output.flatMap((part, i): ToolOutputPart[] => {
    if (part.type === 'encrypted_content') return []
    if (part.type === 'input_image' || part.type === 'input_file') return [mediaPart(part, `${path}[${i}]`)]
    return [{ type: 'input_text', text: part.text }]
  })
}

function mediaPart(part: SentImage | SentFile, path: string): InputImage | InputFile {
  if (part.type === 'input_image') {
    requireOne(part, ['image_url', 'file_id'], path)
    const { image_url, file_id } = part
    const inner = typeof image_url === 'object' ? image_url : { url: image_url, detail: undefined }
    const detail = part.detail ?? inner.detail ?? 'auto'
    return { type: 'input_image', ...(inner.url !== undefined ? { image_url: inner.url } : { file_id }), detail }
  }
  requireOne(part, ['file_id', 'file_url', 'file_data'], path)
  const { file_id, file_url, file_data, filename } = part
  return {
    type: 'input_file',
    ...(file_id !== undefined && { file_id }),
    ...(file_url !== undefined && { file_url }),
    ...(file_data !== undefined && { file_data }),
    ...(filename !== undefined && { filename }),
  }
}

function requireOne<N extends string>(part: { [name in N]?: unknown }, names: readonly N[], path: string): void {
  const given = names.filter((name) => part[name] !== undefined)
  if (given.length === 1) return
  if (given.length === 0) {
    const param = `${path}.${names[0]}`
    throw new ApiError('missing_required_parameter', `Missing required parameter: '${param}'.`, { param })
  }
  const text = `Invalid '${path}': give only one of ${given.map((name) => `'${name}'`).join(' and ')}.`
  throw new ApiError('invalid_value', text, { param: path })
}
