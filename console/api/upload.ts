import type { Static } from 'typebox'
import type { FileObject } from '../../server/files/schema.ts'
import { type Failure, failureFrom, isFailure, newFailure, noAnswer } from './failure.ts'
import { isImage, PIXELS_MAX, pixelsOf } from './image-file.ts'

/** Source: docs/api/files.md, purposes. */
export type Purpose = 'vision' | 'video' | 'audio' | 'user_data' | 'assistants' | 'batch' | 'fine-tune' | 'evals'
export type StoredFile = Omit<Static<typeof FileObject>, 'purpose'> & { purpose: Purpose }

/** Where the API has a file. */
export function filePath({ id }: Pick<StoredFile, 'id'>): string {
  return `/v1/files/${encodeURIComponent(id)}`
}

type UploadOptions = {
  purpose: Purpose
  expires_after_seconds?: number
  onProgress?: (share: number) => void
  signal?: AbortSignal
}

/**
 * Uploads one file and reports progress from 0 to 1. `expires_after_seconds` shortens the 30 days it is kept.
 * Rejects with a `Failure` whose code is the specific cause when the file is refused; an abort rejects with the reason of the signal.
 */
export async function uploadFile(file: File, options: UploadOptions): Promise<StoredFile> {
  try {
    return await sendFile(file, options)
  } catch (error) {
    if (isFailure(error) && error.code === 'invalid_file') throw await withCause(error, file, options.purpose)
    throw error
  }
}

/** The service answers `invalid_file` to every defect of a file; the browser can find out which one it is. */
async function withCause(failure: Failure, file: File, purpose: Purpose): Promise<Failure> {
  const { status, type, param, request_id } = failure
  const because = (code: string) => newFailure(status, code, { type, param, request_id })
  if (purpose !== 'vision' || !(await isImage(file))) return because('wrong_file_type')
  return because((await pixelsOf(file)) > PIXELS_MAX ? 'image_too_large' : 'file_damaged')
}

function sendFile(file: File, options: UploadOptions): Promise<StoredFile> {
  const { purpose, expires_after_seconds, onProgress, signal } = options
  const form = new FormData()
  form.set('purpose', purpose)
  if (expires_after_seconds !== undefined) {
    form.set('expires_after[anchor]', 'created_at')
    form.set('expires_after[seconds]', String(expires_after_seconds))
  }
  form.set('file', file, file.name)
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    // fetch cannot report how much of a body was sent.
    const sending = new XMLHttpRequest()
    sending.open('POST', '/v1/files')
    sending.upload.onprogress = ({ loaded, total }) => onProgress?.(total > 0 ? loaded / total : 0)
    sending.onerror = () => reject(noAnswer())
    sending.onabort = () => reject(signal?.reason)
    sending.onload = () => {
      const { status, responseText } = sending
      if (status === 200) resolve(JSON.parse(responseText) as StoredFile)
      else reject(failureFrom(status, responseText, (name) => sending.getResponseHeader(name)))
    }
    signal?.addEventListener('abort', () => sending.abort(), { once: true })
    sending.send(form)
  })
}
