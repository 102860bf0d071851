import type { ChatModel } from '../../api/chat-models.ts'
import { type Purpose, uploadFile } from '../../api/upload.ts'
import { type Attachment, type AttachmentKind, newMessageId } from '../conversation/conversation.ts'

/** Images up to this size are sent inline; larger ones are uploaded once and referenced, which keeps requests short. */
const INLINE_BYTES_MAX = 65_536

/** Source: docs/api/chat.md, Parts. */
export const BYTES_MAX: Record<AttachmentKind, number> = {
  image: 20_000_000,
  audio: 25_000_000,
  video: 50_000_000,
  pdf: 32_000_000,
  text: 10_000_000,
}

const PURPOSES: Record<AttachmentKind, Purpose> = {
  image: 'vision',
  video: 'video',
  audio: 'audio',
  pdf: 'user_data',
  text: 'user_data',
}

/** The kind of a file by its declared type; null for image formats that no model accepts. The service checks the bytes. */
export function kindOf({ type, name }: Pick<File, 'type' | 'name'>): AttachmentKind | null {
  if (/^image\/(png|jpeg|webp|gif)$/.test(type)) return 'image'
  if (type.startsWith('image/') && type !== 'image/svg+xml') return null
  if (type.startsWith('video/')) return 'video'
  if (type.startsWith('audio/')) return 'audio'
  return type === 'application/pdf' || /\.pdf$/i.test(name) ? 'pdf' : 'text'
}

/** Whether a model accepts this kind of file. */
export function accepts(model: ChatModel, kind: AttachmentKind): boolean {
  const capability = CAPABILITIES[kind]
  return capability === null || model.capabilities.includes(capability)
}

/** The capability that each kind of file needs; null for text, which every model accepts. */
const CAPABILITIES = {
  image: 'vision',
  pdf: 'vision',
  video: 'video',
  audio: 'audio',
  text: null,
} as const satisfies Record<AttachmentKind, string | null>

/** Turns a file into an attachment: reads it, or uploads it and reports progress. Rejects as `uploadFile` does. */
export async function attach(
  file: File,
  kind: AttachmentKind,
  options: { onProgress: (share: number) => void; signal: AbortSignal },
): Promise<Attachment> {
  const { name, size } = file
  const about = { id: newMessageId(), kind, name, size_bytes: size }
  if (kind === 'image' && size <= INLINE_BYTES_MAX)
    return { ...about, source: { from: 'data', url: await dataUrlOf(file) } }
  const { id } = await uploadFile(file, { purpose: PURPOSES[kind], ...options })
  return { ...about, source: { from: 'file', file_id: id } }
}

/** The URL of an image attachment. */
export function imageUrl({ source }: Attachment): string {
  return source.from === 'data' ? source.url : `/v1/files/${encodeURIComponent(source.file_id)}/content`
}

function dataUrlOf(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })
}
