import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { PIXELS_MAX, pixelsOf } from '../api/image-file.ts'
import { onSignOut } from '../api/personal-storage.ts'
import { type Purpose, uploadFile } from '../api/upload.ts'
import { type Mistake, mistakeOf, type PurposeChoice, purposeOf } from './purposes.ts'

export type Upload = {
  id: number
  file: File
  purpose: Purpose
  state: 'waiting' | 'sending' | 'failed'
  /** Sent so far, 0 to 1. */
  share: number
  mistake: Mistake | null
  error: unknown
}

/** Sent at the same time; the others wait. */
const AT_ONCE = 3

let uploads: readonly Upload[] = []
let next = 1
const cancels = new Map<number, AbortController>()
const listeners = new Set<() => void>()

onSignOut(() => {
  for (const { id } of uploads) removeUpload(id)
})

/** The running uploads, newest last. They continue while other pages are open. */
export function useUploads(): readonly Upload[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => uploads,
  )
}

/** Uploads files for the chosen purpose. Files that are visibly invalid are reported and not sent. */
export function useUpload(): (files: readonly File[], choice: PurposeChoice) => void {
  const queries = useQueryClient()
  return (files, choice) => {
    const added = files.map((file) => {
      const purpose = choice === 'auto' ? purposeOf(file) : choice
      const mistake = mistakeOf(file, purpose)
      return { ...blank(file, purpose), mistake, state: mistake ? ('failed' as const) : ('waiting' as const) }
    })
    set([...uploads, ...added])
    sendWaiting(queries)
  }
}

/** Stops it when it is being sent, and takes it out of the list. */
export function removeUpload(id: number): void {
  cancels.get(id)?.abort()
  set(uploads.filter((upload) => upload.id !== id))
}

/** Sends a failed one again. */
export function useRetry(): (id: number) => void {
  const queries = useQueryClient()
  return (id) => {
    change(id, { state: 'waiting', error: null, share: 0 })
    sendWaiting(queries)
  }
}

function blank(file: File, purpose: Purpose): Upload {
  return { id: next++, file, purpose, state: 'waiting', share: 0, mistake: null, error: null }
}

function sendWaiting(queries: QueryClient): void {
  const sending = uploads.filter(({ state }) => state === 'sending').length
  const waiting = uploads.filter(({ state }) => state === 'waiting')
  for (const upload of waiting.slice(0, Math.max(0, AT_ONCE - sending))) void send(queries, upload)
}

async function send(queries: QueryClient, { id, file, purpose }: Upload): Promise<void> {
  const cancel = new AbortController()
  cancels.set(id, cancel)
  change(id, { state: 'sending' })
  try {
    if (purpose === 'vision' && (await pixelsOf(file)) > PIXELS_MAX) {
      change(id, { state: 'failed', mistake: 'too_many_pixels' })
      return
    }
    const onProgress = (share: number) => change(id, { share })
    await uploadFile(file, { purpose, onProgress, signal: cancel.signal })
    // The row of the list takes the place of the one that was sent.
    await queries.invalidateQueries({ queryKey: ['files'] })
    set(uploads.filter((upload) => upload.id !== id))
  } catch (error) {
    change(id, { state: 'failed', error })
  } finally {
    cancels.delete(id)
    sendWaiting(queries)
  }
}

function change(id: number, to: Partial<Upload>): void {
  set(uploads.map((upload) => (upload.id === id ? { ...upload, ...to } : upload)))
}

function set(now: readonly Upload[]): void {
  uploads = now
  for (const listener of listeners) listener()
}
