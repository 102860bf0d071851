import type { PartSource } from '../../chat/parts/source.ts'
import type { ContextItem, Item } from '../schema/items.ts'
import type { InputFile, InputImage, MessagePart } from '../schema/parts.ts'

/** A part that refers to content elsewhere, to be resolved for the engine. */
export type MediumPart = InputImage | InputFile

export function isMedium(part: MessagePart): part is MediumPart {
  return part.type === 'input_image' || part.type === 'input_file'
}

/** Every part of the context that refers to content elsewhere, in order, with what it refers to. */
export function mediaOf(context: readonly ContextItem[]): Array<{ part: MediumPart; source: PartSource }> {
  return context.flatMap(({ item, path }) => {
    const { parts, member } = partsOf(item)
    return parts.flatMap((part, i) => {
      if (!isMedium(part)) return []
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

const SOUNDS = 'responses take no video and no sound. Use POST /v1/chat/completions.'
/** A file is a document or a picture here. */
const REFUSES = { video: SOUNDS, audio: SOUNDS }
const DOCUMENTS = ['user_data', 'assistants', 'batch', 'fine-tune', 'evals'] as const

/** `place`: the path of the part in the request; null for one of the chain, which is blamed as a whole. */
function sourceOf(part: MediumPart, place: string | null, path: string): PartSource {
  const at = (member: string) => (place === null ? path : `${place}.${member}`)
  const blame = at('type')
  if (part.type === 'input_image') {
    const { file_id, image_url = '' } = part
    const detail = part.detail === 'original' ? 'high' : part.detail
    return file_id === undefined
      ? { from: 'url', family: 'image', url: image_url, detail, param: at('image_url'), blame }
      : { from: 'file_id', file_id, detail, purposes: ['vision'], refuses: REFUSES, param: at('file_id'), blame }
  }
  const { file_id, file_url, file_data = '', filename } = part
  if (file_id !== undefined) {
    const purposes = [...DOCUMENTS, 'vision'] as const
    return { from: 'file_id', file_id, purposes, refuses: REFUSES, param: at('file_id'), blame }
  }
  const named = filename === undefined ? {} : { filename }
  return file_url === undefined
    ? { from: 'file_data', file_data, ...named, refuses: REFUSES, param: at('file_data'), blame }
    : { from: 'file_url', url: file_url, ...named, refuses: REFUSES, param: at('file_url'), blame }
}
