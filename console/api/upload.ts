import type { Static } from 'typebox'
import type { FileObject } from '../../server/files/schema.ts'
import { failureFrom, noAnswer } from './failure.ts'

/** Source: docs/api/files.md, purposes. */
export type Purpose = 'vision' | 'video' | 'audio' | 'user_data' | 'assistants' | 'batch' | 'fine-tune' | 'evals'
export type StoredFile = Omit<Static<typeof FileObject>, 'purpose'> & { purpose: Purpose }

/**
 * Uploads one file and reports the share that was sent, 0 to 1. `expires_after_seconds` shortens the 30 days it is kept.
 * Rejects with a `Failure`; an abort rejects with the reason of the signal.
 */
export function uploadFile(
  file: File,
  options: {
    purpose: Purpose
    expires_after_seconds?: number
    onProgress?: (share: number) => void
    signal?: AbortSignal
  },
): Promise<StoredFile> {
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
