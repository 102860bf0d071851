import { type QueryClient, useQuery } from '@tanstack/react-query'
import type { VideoRequest } from '../draft/draft.ts'

/** A submitted request that has no response yet. */
export type Pending = { key: string; request: VideoRequest; cost: string; currency: string; at: number }

const KEY = ['video-pending'] as const
const NONE: readonly Pending[] = []

export function usePending(): readonly Pending[] {
  const { data } = useQuery<readonly Pending[]>({ queryKey: KEY, queryFn: () => NONE, enabled: false })
  return data ?? NONE
}

export function addPending(queries: QueryClient, pending: Pending): void {
  queries.setQueryData<readonly Pending[]>(KEY, (known = NONE) => [pending, ...known])
}

/** Removes the oldest match: it became a job or was refused. */
export function forgetPending(queries: QueryClient, matches: (pending: Pending) => boolean): void {
  queries.setQueryData<readonly Pending[]>(KEY, (known = NONE) => {
    const at = known.findLastIndex(matches)
    return at < 0 ? known : known.filter((_, index) => index !== at)
  })
}
