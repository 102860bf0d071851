import { useQuery } from '@tanstack/react-query'
import { failureOf } from '../api/failure.ts'
import { openRequest } from '../api/request.ts'
import { filePath, type StoredFile } from '../api/upload.ts'

/** Of a text, only so much is shown. */
const TEXT_BYTES_MAX = 131_072

/** What a document turned out to be. */
export type DocumentContent =
  | { kind: 'text'; text: string; whole: boolean }
  | { kind: 'pdf'; blob: Blob }
  | { kind: 'image' | 'video' | 'audio' | 'other' }

/** Where the bytes of a file are. */
export function contentPath(file: Pick<StoredFile, 'id'>): string {
  return `${filePath(file)}/content`
}

/** Reads as much of a document as its preview needs. */
export function useDocument(file: StoredFile) {
  return useQuery({
    queryKey: ['file-content', file.id],
    queryFn: ({ signal }) => readDocument(file, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
}

async function readDocument(file: StoredFile, signal: AbortSignal): Promise<DocumentContent> {
  const path = contentPath(file)
  const beginning = await openRequest('GET', path, { signal, headers: { range: `bytes=0-${TEXT_BYTES_MAX - 1}` } })
  const type = beginning.headers.get('content-type') ?? ''
  const bytes = await wholeBody(beginning)
  if (type.startsWith('application/pdf')) {
    const whole = file.bytes <= bytes.byteLength ? bytes : await wholeBody(await openRequest('GET', path, { signal }))
    return { kind: 'pdf', blob: new Blob([whole], { type: 'application/pdf' }) }
  }
  if (/^image\/(png|jpeg|webp|gif|avif)/.test(type)) return { kind: 'image' }
  if (/^video\/(mp4|webm|quicktime)/.test(type)) return { kind: 'video' }
  if (type.startsWith('audio/')) return { kind: 'audio' }
  const whole = file.bytes <= bytes.byteLength
  const text = textOf(bytes, whole)
  return text === null ? { kind: 'other' } : { kind: 'text', text, whole }
}

async function wholeBody(response: Response): Promise<ArrayBuffer> {
  try {
    return await response.arrayBuffer()
  } catch (error) {
    throw error instanceof DOMException ? error : failureOf(error)
  }
}

/** The text that these bytes are in UTF-8; null when they are none. A character cut off at the end is left out. */
function textOf(bytes: ArrayBuffer, whole: boolean): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: !whole })
    return /[\0-\b\x0e-\x1a]/.test(text) ? null : text
  } catch {
    return null
  }
}
