import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import type { VideoView } from '../../server/videos/schema.ts'
import type { Balance } from './queries.ts'
import { followSession, useSession } from './session.ts'

/** After the service refused to tell of changes: too many pages listen, or it restarts. */
const REOPEN_MS = 10_000

let connected = false
const listeners = new Set<() => void>()

/** What shows a changed job; until the pages of videos are loaded nothing does. */
let showVideo: ((queries: QueryClient, video: LiveVideo) => void) | null = null

/** A job as it is now, or the id of one that is no more. */
export type LiveVideo = VideoView | { id: string; object: 'video'; deleted: true }

/** Lets the pages of videos put a changed job where it is shown, instead of everything being read again. */
export function showLiveVideos(show: (queries: QueryClient, video: LiveVideo) => void): void {
  showVideo = show
}

/** Keeps what is shown in step with the service, as `/console/events` tells of changes. Source: docs/api/console.md, live events. */
export function useLiveChanges(): void {
  const queries = useQueryClient()
  const { id } = useSession().organization
  // biome-ignore lint/correctness/useExhaustiveDependencies: a stream tells of one organization, and another begins with the next.
  useEffect(() => {
    let source: EventSource
    let again: ReturnType<typeof setTimeout> | undefined
    const open = () => {
      source = listen(queries)
      source.addEventListener('error', () => {
        if (source.readyState !== EventSource.CLOSED) return
        // Refused, and the browser asks no more.
        void followSession(queries)
        again = setTimeout(open, REOPEN_MS)
      })
    }
    open()
    return () => {
      clearTimeout(again)
      source.close()
      setConnected(false)
    }
  }, [queries, id])
}

function listen(queries: QueryClient): EventSource {
  const source = new EventSource('/console/events')
  source.onopen = () => setConnected(true)
  source.onerror = () => setConnected(false)
  source.addEventListener('end', () => void followSession(queries))
  let begun = false
  source.addEventListener('ready', () => {
    // After a break anything may have happened, to the session too.
    if (begun) void followSession(queries)
    begun = true
    for (const noun of ['videos', 'balance']) void queries.invalidateQueries({ queryKey: [noun] })
  })
  source.addEventListener('video', ({ data }) => showVideo?.(queries, JSON.parse(data) as LiveVideo))
  source.addEventListener('balance', ({ data }) => {
    queries.setQueryData<Balance>(['balance'], (shown) => shown && (JSON.parse(data) as Balance))
    for (const noun of ['ledger', 'usage']) void queries.invalidateQueries({ queryKey: [noun] })
  })
  return source
}

/** How often to ask again, for what moves by itself: rarely while changes are pushed to us, every few seconds otherwise. */
export function usePollMs(): number {
  const live = useSyncExternalStore(
    (heard) => {
      listeners.add(heard)
      return () => listeners.delete(heard)
    },
    () => connected,
  )
  return live ? 30_000 : 4_000
}

function setConnected(now: boolean): void {
  connected = now
  for (const heard of listeners) heard()
}
