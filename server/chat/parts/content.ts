import { isUtf8 } from 'node:buffer'
import type { ChatPart } from '../../engines/chat/contract.ts'
import { cleanFilename } from '../../files/filename.ts'
import { busyProblem, ChildrenBusy } from '../../media/children/concurrency-limit.ts'
import { PdfError, type PdfFault, renderPdf } from '../../media/pdf/render.ts'
import { checkPicture, ProbeError } from '../../media/probe/probe.ts'
import { type MediaFamily, recognizeBytes } from '../../media/probe/recognize.ts'
import { utf8Slices } from '../../platform/json/bytes.ts'
import { turnTaker } from '../../platform/turns.ts'
import { tooLarge } from './inline.ts'
import {
  type Budget,
  BYTES_MAX,
  type PartKind,
  type PartSource,
  type PartWork,
  refuse,
  requireCapability,
  spendBudget,
} from './source.ts'

/** Content in memory, with the base64 text it came as, if any. */
export type PartContent = { bytes: Buffer; base64?: string; filename: string | undefined }

/**
 * The parts of content, by its bytes and never by its name or a type that it is said to have: one for media or text, one per page for a PDF.
 * Throws ApiError 400.
 */
export async function partsOfContent(
  source: PartSource,
  content: PartContent,
  work: Omit<PartWork, 'engine'> & { budget: Budget; signal: AbortSignal },
): Promise<ChatPart[]> {
  const { bytes } = content
  const { media_type, family } = await recognizeBytes(bytes)
  const kind = family ?? (await documentKind(media_type, bytes, work.signal))
  if (kind === null) throw refuse(source, UNKNOWN_CONTENT)
  requireFamily(source, { kind, media_type })
  requireCapability(work.model, source, kind)
  if (bytes.length > BYTES_MAX[kind]) throw refuse(source, tooLarge(BYTES_MAX[kind]))
  if (kind === 'text') return [textPart(bytes, content.filename)]
  if (kind === 'pdf') return pagesOf(source, bytes, work)
  if (kind === 'image') await requireIntactImage(source, bytes)
  const base64 = content.base64 ?? bytes.toString('base64')
  if (source.from === 'sound') return [soundPart(source, media_type, base64)]
  return [mediaPart(kind, `data:${media_type};base64,${base64}`, source)]
}

export function mediaPart(family: MediaFamily, url: string, source: PartSource): ChatPart {
  switch (family) {
    case 'image': {
      const asked = source.from === 'url' || source.from === 'file_id' ? source.detail : undefined
      // Model servers do not know the newest value.
      const detail = asked === 'original' ? 'high' : asked
      return { type: 'image_url', image_url: { url, ...(detail ? { detail } : {}) } }
    }
    case 'video':
      return { type: 'video_url', video_url: { url } }
    case 'audio':
      return { type: 'audio_url', audio_url: { url } }
  }
}

const UNKNOWN_CONTENT =
  'its content is of no type that a chat model can be given. Send PNG, JPEG, WebP or GIF images, MP4, MOV or WebM video, ' +
  'MP3, WAV, M4A, AAC, FLAC or OGG sound, a PDF, or text in UTF-8.'

type SoundPart = Extract<ChatPart, { type: 'input_audio' }>

/** The format of `input_audio` by media type. */
const SOUND_FORMATS: Readonly<Record<string, SoundPart['input_audio']['format']>> = {
  'audio/wav': 'wav',
  'audio/mpeg': 'mp3',
  'audio/flac': 'flac',
  'audio/ogg': 'ogg',
  'audio/mp4': 'm4a',
  'audio/aac': 'm4a',
}

function soundPart(source: PartSource, media_type: string, data: string): SoundPart {
  const format = SOUND_FORMATS[media_type]
  if (format) return { type: 'input_audio', input_audio: { data, format } }
  throw refuse(source, `its bytes are ${media_type}. Send WAV, MP3, FLAC, OGG or M4A.`)
}

/** Control characters that text does not contain. */
const BINARY = /[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]/

async function documentKind(media_type: string, bytes: Buffer, signal: AbortSignal): Promise<PartKind | null> {
  if (media_type === 'application/pdf') return 'pdf'
  return bytes.length > 0 && (await isText(bytes, signal)) ? 'text' : null
}

async function isText(bytes: Buffer, signal: AbortSignal): Promise<boolean> {
  const turn = turnTaker(1, signal)
  for (const slice of utf8Slices(bytes)) {
    if (!isUtf8(slice) || BINARY.test(slice.toString('latin1'))) return false
    const other = turn()
    if (other) await other
  }
  return true
}

/** A part that names a kind of media takes no other. */
function requireFamily(source: PartSource, found: { kind: PartKind; media_type: string }): void {
  const family = source.from === 'url' ? source.family : source.from === 'sound' ? 'audio' : null
  if (family === null || found.kind === family) return
  const seen = found.kind === 'text' ? 'text' : found.media_type
  throw refuse(source, `expected ${family} content, but its bytes are ${seen}.`)
}

async function requireIntactImage(source: PartSource, bytes: Buffer): Promise<void> {
  try {
    await checkPicture(bytes)
  } catch (error) {
    if (!(error instanceof ProbeError)) throw error
    throw refuse(source, IMAGE_PROBLEMS[error.fault] ?? 'the image is damaged or incomplete. Export it again.')
  }
}

export const IMAGE_PROBLEMS: Partial<Record<ProbeError['fault'], string>> = {
  too_large: 'the image has more than 50 megapixels. Send a smaller one.',
  too_many_frames: 'the animation has too many frames. Send a shorter one.',
}

function textPart(bytes: Buffer, filename: string | undefined): ChatPart {
  const text = bytes.toString('utf8').replace(/^\ufeff/, '')
  return { type: 'text', text: `File "${cleanFilename(filename)}":\n${text}` }
}

async function pagesOf(
  source: PartSource,
  bytes: Buffer,
  { org_id, lease, budget, signal }: Pick<PartWork, 'org_id' | 'lease'> & { budget: Budget; signal: AbortSignal },
): Promise<ChatPart[]> {
  const pages = await renderPdf(bytes, { owner: org_id, signal }).catch((error: unknown) => {
    if (error instanceof ChildrenBusy) throw busyProblem(error, 'PDFs')
    throw error instanceof PdfError ? refuse(source, PDF_PROBLEMS[error.fault]) : error
  })
  // One piece was already counted for the part itself.
  const size_bytes = pages.reduce((sum, page) => sum + page.length, 0)
  spendBudget(budget, source, { pieces: pages.length - 1, bytes: size_bytes })
  await lease.add(size_bytes)
  return pages.map((page) => {
    const base64 = Buffer.from(page.buffer, page.byteOffset, page.length).toString('base64')
    return mediaPart('image', `data:image/jpeg;base64,${base64}`, source)
  })
}

const PDF_PROBLEMS: Record<PdfFault, string> = {
  unreadable: 'the PDF is damaged or has no pages. Export it again.',
  encrypted: 'the PDF is protected by a password. Remove the protection.',
  too_many_pages: 'the PDF has more than 50 pages. Send fewer pages at a time.',
  too_complex: 'the PDF takes too long or too much memory to draw. Send fewer or simpler pages.',
}
