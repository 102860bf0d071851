import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import type { VideoView } from '../../server/videos/schema.ts'
import type { Balance } from './queries.ts'
import { followSession, useSession } from './session.ts'

/** Delay before reconnecting after the service refused the stream: too many pages listen, or it restarts. */
const REOPEN_MS = 10_000

let connected = false
const listeners = new Set<() => void>()

/** Applies a changed job to the cache; null until the videos pages are loaded. */
let showVideo: ((queries: QueryClient, video: LiveVideo) => void) | null = null

/** A changed job, or the id of a deleted one. */
export type LiveVideo = VideoView | { id: string; object: 'video'; deleted: true }

/** Registers how the videos pages apply a changed job to the cache, so that lists are not reloaded. */
export function showLiveVideos(show: (queries: QueryClient, video: LiveVideo) => void): void {
  showVideo = show
}

/** Updates the cache from the events of `/console/events`. Source: docs/api/console.md, live events. */
export function useLiveChanges(): void {
  const queries = useQueryClient()
  const { user, organization } = useSession()
  // biome-ignore lint/correctness/useExhaustiveDependencies: a stream belongs to one person in one organization; others open another.
  useEffect(() => {
    let source: EventSource
    let again: ReturnType<typeof setTimeout> | undefined
    const open = () => {
      source = listen(queries)
      source.addEventListener('error', () => {
        if (source.readyState !== EventSource.CLOSED) return
        // Refused: the browser does not reconnect.
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
  }, [queries, user.id, organization.id])
}

function listen(queries: QueryClient): EventSource {
  const source = new EventSource('/console/events')
  source.onopen = () => setConnected(true)
  source.onerror = () => setConnected(false)
  source.addEventListener('end', () => void followSession(queries))
  source.addEventListener('ready', () => {
    // Anything may have changed since the page was loaded or the stream was lost, including the session.
    void followSession(queries)
    for (const noun of ['videos', 'balance']) void queries.invalidateQueries({ queryKey: [noun] })
  })
  source.addEventListener('video', ({ data }) => showVideo?.(queries, JSON.parse(data) as LiveVideo))
  source.addEventListener('balance', ({ data }) => {
    queries.setQueryData<Balance>(['balance'], (shown) => shown && (JSON.parse(data) as Balance))
    for (const noun of ['ledger', 'usage']) void queries.invalidateQueries({ queryKey: [noun] })
  })
  return source
}

/** Poll interval for live data: long while events are connected, a few seconds otherwise. */
export function usePollMs(): number {
  const live = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => connected,
  )
  return live ? 30_000 : 4_000
}

function setConnected(now: boolean): void {
  connected = now
  for (const listener of listeners) listener()
}
