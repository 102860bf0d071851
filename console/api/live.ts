import { notifyManager, type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import type { VideoView } from '../../server/videos/schema.ts'
import { paced } from './paced.ts'
import type { Balance } from './queries.ts'
import { followSession, useSession } from './session.ts'

/** Delay before reconnecting after the service refused the stream: too many pages listen, or it restarts. */
const REOPEN_MS = 10_000

/** Hundreds of jobs change more often than anybody reads: the page is drawn this often, whatever comes. */
const SHOW_MS = 500
/** Jobs that end within this time are announced together. */
const TOGETHER_MS = 1000
/** Lists of charges are read again from the service. */
const READ_AGAIN_MS = 2000

let connected = false
const listeners = new Set<() => void>()

/** Applies changed jobs to the cache; null until the videos pages are loaded. */
let showVideos: ((queries: QueryClient, videos: readonly LiveVideo[]) => void) | null = null

/** A changed job, or the id of a deleted one. */
export type LiveVideo = VideoView | { id: string; object: 'video'; deleted: true }

/** Registers how the videos pages apply changed jobs to the cache, so that lists are not reloaded. */
export function showLiveVideos(show: (queries: QueryClient, videos: readonly LiveVideo[]) => void): void {
  showVideos = show
}

type Announce = (videos: readonly VideoView[]) => void

const announcers = new Set<Announce>()

/** Calls back with jobs of the person that have ended, each once, and together those that end at about the same time. Returns what stops it. */
export function onEnded(announce: Announce): () => void {
  announcers.add(announce)
  return () => announcers.delete(announce)
}

/** Updates the cache from the events of `/console/events`. Source: docs/api/console.md, live events. */
export function useLiveChanges(): void {
  const queries = useQueryClient()
  const { user, organization } = useSession()
  // biome-ignore lint/correctness/useExhaustiveDependencies: a stream belongs to one person in one organization; others open another.
  useEffect(() => {
    const changes = collectChanges(queries)
    const ended = gatherEnded()
    let source: EventSource
    let again: ReturnType<typeof setTimeout> | undefined
    const open = () => {
      source = listen(queries, changes)
      source.addEventListener('own_video_ended', ({ data }) => ended.add(JSON.parse(data) as VideoView))
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
      changes.stop()
      ended.stop()
      setConnected(false)
    }
  }, [queries, user.id, organization.id])
}

function listen(queries: QueryClient, changes: Changes): EventSource {
  const source = new EventSource('/console/events')
  source.onopen = () => setConnected(true)
  source.onerror = () => setConnected(false)
  source.addEventListener('end', () => void followSession(queries))
  source.addEventListener('ready', () => {
    // Anything may have changed since the page was loaded or the stream was lost, including the session.
    void followSession(queries)
    for (const noun of ['videos', 'balance']) void queries.invalidateQueries({ queryKey: [noun] })
  })
  source.addEventListener('video', ({ data }) => changes.addVideo(data))
  source.addEventListener('balance', ({ data }) => changes.setBalance(data))
  return source
}

/** Collects what changed, of each job the newest state, and shows it together twice a second. */
function collectChanges(queries: QueryClient) {
  const videos = new Map<string, LiveVideo>()
  let balance: string | null = null
  const show = paced(() => {
    notifyManager.batch(() => {
      showVideos?.(queries, [...videos.values()])
      if (balance !== null)
        queries.setQueryData<Balance>(['balance'], (shown) => shown && (JSON.parse(balance!) as Balance))
    })
    videos.clear()
    balance = null
  }, SHOW_MS)
  const readAgain = paced(() => {
    for (const noun of ['ledger', 'usage']) void queries.invalidateQueries({ queryKey: [noun] })
  }, READ_AGAIN_MS)
  return {
    addVideo(data: string) {
      const video = JSON.parse(data) as LiveVideo
      videos.set(video.id, video)
      show.ask()
    },
    setBalance(data: string) {
      balance = data
      show.ask()
      readAgain.ask()
    },
    stop() {
      show.stop()
      readAgain.stop()
    },
  }
}

type Changes = ReturnType<typeof collectChanges>

/** Collects jobs that have ended until they are announced. Nobody waits for a canceled one. */
function gatherEnded() {
  const known = new Set<string>()
  let gathered: VideoView[] = []
  let gathering: ReturnType<typeof setTimeout> | undefined
  return {
    add(video: VideoView) {
      if (known.has(video.id) || video.status === 'canceled') return
      known.add(video.id)
      gathered.push(video)
      gathering ??= setTimeout(() => {
        const together = gathered
        gathered = []
        gathering = undefined
        for (const announce of announcers) announce(together)
      }, TOGETHER_MS)
    },
    stop: () => clearTimeout(gathering),
  }
}

/** Poll interval for live data: long while events are connected, a few seconds otherwise. */
export function usePollMs(): number {
  return useLive() ? 30_000 : 4_000
}

/** Whether events are connected. */
export function useLive(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => connected,
  )
}

function setConnected(now: boolean): void {
  connected = now
  for (const listener of listeners) listener()
}
