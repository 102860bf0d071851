import { type Purpose, uploadFile } from '../../api/upload.ts'
import { type Attachment, type AttachmentKind, newMessageId } from '../conversation/conversation.ts'

/** Pictures up to this size go along by their bytes; others are uploaded once and referred to, which keeps requests short. */
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

/** What a file would be to a model, by its declared type; null for pictures no model here takes. The service looks for itself. */
export function kindOf({ type, name }: Pick<File, 'type' | 'name'>): AttachmentKind | null {
  if (/^image\/(png|jpeg|webp|gif)$/.test(type)) return 'image'
  if (type.startsWith('image/') && type !== 'image/svg+xml') return null
  if (type.startsWith('video/')) return 'video'
  if (type.startsWith('audio/')) return 'audio'
  return type === 'application/pdf' || /\.pdf$/i.test(name) ? 'pdf' : 'text'
}

/** Makes a file part of a message: reads it, or uploads it and reports the share that was sent. Rejects as `uploadFile` does. */
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

/** Where the browser finds the picture. */
export function pictureOf({ source }: Attachment): string {
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
