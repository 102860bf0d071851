import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'

let connected = false
const listeners = new Set<() => void>()

/** Keeps what is shown in step with the service: every change that `/console/events` tells of refreshes the queries of its noun. */
export function useLiveChanges(): void {
  const queries = useQueryClient()
  useEffect(() => {
    const source = new EventSource('/console/events')
    const apply = ({ type, data }: MessageEvent) => applyChange(queries, type, data)
    source.onopen = () => {
      setConnected(true)
      void queries.invalidateQueries({ queryKey: ['videos'] })
    }
    source.onerror = () => setConnected(false)
    source.onmessage = apply
    for (const type of ['video', 'balance']) source.addEventListener(type, apply)
    return () => {
      source.close()
      setConnected(false)
    }
  }, [queries])
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

function applyChange(queries: QueryClient, type: string, data: string): void {
  const noun = type === 'message' ? nounOf(data) : type
  if (noun === 'video') {
    void queries.invalidateQueries({ queryKey: ['videos'] })
    void queries.invalidateQueries({ queryKey: ['balance'] })
  } else if (noun !== null) void queries.invalidateQueries({ queryKey: [noun] })
}

function nounOf(data: string): string | null {
  try {
    const { object, type } = JSON.parse(data)
    return String(object ?? type).split('.')[0]!
  } catch {
    return null
  }
}
