import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { PIXELS_MAX, pixelsOf } from '../api/image-file.ts'
import { randomId } from '../api/random-id.ts'
import { type Purpose, uploadFile } from '../api/upload.ts'
import { type Mistake, mistakeOf, type PurposeChoice, purposeOf } from './purposes.ts'

export type Upload = {
  id: string
  file: File
  purpose: Purpose
  state: 'waiting' | 'sending' | 'failed'
  /** Sent so far, 0 to 1. */
  share: number
  mistake: Mistake | null
  error: unknown
}

/** Uploads sent at the same time; the others wait. */
const CONCURRENT_MAX = 3

/** In the query cache, which a new session empties: no upload goes on for another person or organization. */
const KEY = ['uploads'] as const
const NONE: readonly Upload[] = []

/** The uploads, newest last, which continue while other pages are open, and what can be done with them. */
export function useUploads() {
  const queries = useQueryClient()
  const { data: uploads = NONE } = useQuery<readonly Upload[]>({
    queryKey: KEY,
    queryFn: () => NONE,
    enabled: false,
    gcTime: Number.POSITIVE_INFINITY,
  })
  return {
    uploads,
    /** Uploads files for the chosen purpose. Files that are visibly invalid are reported and not sent. */
    add(files: readonly File[], choice: PurposeChoice) {
      const added = files.map((file) => newUpload(file, choice === 'auto' ? purposeOf(file) : choice))
      update(queries, (known) => [...known, ...added])
      sendWaiting(queries)
    },
    /** Removes an upload from the list, which stops it. */
    remove: (id: string) => update(queries, (known) => known.filter((upload) => upload.id !== id)),
    /** Sends a failed one again. */
    retry(id: string) {
      change(queries, id, { state: 'waiting', error: null, share: 0 })
      sendWaiting(queries)
    },
  }
}

function newUpload(file: File, purpose: Purpose): Upload {
  const mistake = mistakeOf(file, purpose)
  return { id: randomId(), file, purpose, state: mistake ? 'failed' : 'waiting', share: 0, mistake, error: null }
}

function sendWaiting(queries: QueryClient): void {
  const uploads = read(queries)
  const sending = uploads.filter(({ state }) => state === 'sending').length
  const waiting = uploads.filter(({ state }) => state === 'waiting')
  for (const upload of waiting.slice(0, Math.max(0, CONCURRENT_MAX - sending))) void send(queries, upload)
}

async function send(queries: QueryClient, { id, file, purpose }: Upload): Promise<void> {
  const cancel = new AbortController()
  const unsubscribe = queries.getQueryCache().subscribe(() => {
    if (!read(queries).some((upload) => upload.id === id)) cancel.abort()
  })
  change(queries, id, { state: 'sending' })
  try {
    if (purpose === 'vision' && (await pixelsOf(file)) > PIXELS_MAX)
      return change(queries, id, { state: 'failed', mistake: 'too_many_pixels' })
    const onProgress = (share: number) => change(queries, id, { share })
    await uploadFile(file, { purpose, onProgress, signal: cancel.signal })
    // The row of the list takes the place of the one that was sent.
    await queries.invalidateQueries({ queryKey: ['files'] })
    update(queries, (known) => known.filter((upload) => upload.id !== id))
  } catch (error) {
    change(queries, id, { state: 'failed', error })
  } finally {
    unsubscribe()
    sendWaiting(queries)
  }
}

function change(queries: QueryClient, id: string, to: Partial<Upload>): void {
  update(queries, (known) => known.map((upload) => (upload.id === id ? { ...upload, ...to } : upload)))
}

function read(queries: QueryClient): readonly Upload[] {
  return queries.getQueryData<readonly Upload[]>(KEY) ?? NONE
}

function update(queries: QueryClient, next: (known: readonly Upload[]) => readonly Upload[]): void {
  queries.setQueryData<readonly Upload[]>(KEY, (known = NONE) => next(known))
}
