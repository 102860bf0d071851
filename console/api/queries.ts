import {
  keepPreviousData,
  MutationCache,
  notifyManager,
  QueryCache,
  QueryClient,
  useInfiniteQuery,
  useQueries,
  useQuery,
} from '@tanstack/react-query'
import type { Static } from 'typebox'
import type { BalanceView } from '../../server/billing/schema.ts'
import type { Maker, SiteView } from '../../server/console/schema.ts'
import type { Labels } from '../../server/videos/labels/schema.ts'
import { failureOf, isFailure } from './failure.ts'
import { type Query, request } from './request.ts'

export type Site = SiteView
export type Balance = Static<typeof BalanceView>

/** A page of any list of the API. */
export type Page<T> = { data: T[]; first_id: string | null; last_id: string | null; has_more: boolean }

/** Marks a mutation that replaces the session: a 401 while it runs does not mean that the person is signed out. */
export const RENEWS_SESSION = ['renews-session'] as const

// A button must know that its call is running before the next click: with the default scheduler, a timer, a double click created two keys.
notifyManager.setScheduler(queueMicrotask)

/** The query cache. `onSignedOut` is called for every request that fails because the session has ended. */
export function openQueries(onSignedOut: () => void): QueryClient {
  const queries: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      onError: (error) => {
        const renewing = queries.isMutating({ mutationKey: RENEWS_SESSION }) > 0
        if (isFailure(error) && error.status === 401 && !renewing) onSignedOut()
      },
    }),
    mutationCache: new MutationCache({
      // Not every 401: a wrong password is one too.
      onError: (error) => {
        if (isFailure(error) && error.code === 'missing_api_key') onSignedOut()
      },
    }),
    defaultOptions: {
      // The service may run on this machine or network, so being offline says nothing. A request must not be queued unseen and sent
      // later.
      queries: {
        networkMode: 'always',
        refetchOnReconnect: true,
        staleTime: 10_000,
        retry: (count, error) => count < 2 && isRetriable(error),
      },
      mutations: { networkMode: 'always', retry: false },
    },
  })
  return queries
}

function isRetriable(error: unknown): boolean {
  const { status } = failureOf(error)
  return status === 0 || status >= 500
}

/** Public settings of this service: currency, terms, ways to sign in. */
export function useSite() {
  return useQuery({
    queryKey: ['site'],
    queryFn: ({ signal }) => request<Site>('GET', '/console/site', { signal }),
    staleTime: 300_000,
  })
}

/** Balance, held amount and available amount of the organization. */
export function useBalance() {
  return useQuery({
    queryKey: ['balance'],
    queryFn: ({ signal }) => request<Balance>('GET', '/console/balance', { signal }),
    refetchInterval: 60_000,
  })
}

/** Who made these videos and files, by their ids, as far as it is known. */
export function useMakers(ids: readonly string[]): ReadonlyMap<string, Maker> {
  return useMakersOfPages([ids])
}

/** The same of several pages of a list, each asked for on its own. */
export function useMakersOfPages(pages: ReadonlyArray<readonly string[]>): ReadonlyMap<string, Maker> {
  return useByIds('makers', '/console/makers', pages, { staleTime: Number.POSITIVE_INFINITY })
}

/** Names, tags and favorites of the videos of several pages of a list, as far as they are known. */
export function useLabelsOfPages(pages: ReadonlyArray<readonly string[]>): ReadonlyMap<string, Labels> {
  return useByIds('video-labels', '/console/videos/labels', pages)
}

function useByIds<T extends { id: string }>(
  key: string,
  path: string,
  pages: ReadonlyArray<readonly string[]>,
  options: { staleTime?: number } = {},
): ReadonlyMap<string, T> {
  const answers = useQueries({
    queries: pages.map((ids) => ({
      queryKey: [key, ...ids],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        request<{ data: T[] }>('GET', path, { query: { ids: ids.join() }, signal }),
      placeholderData: keepPreviousData,
      enabled: ids.length > 0,
      ...options,
    })),
  })
  return new Map(answers.flatMap(({ data }) => data?.data.map((each) => [each.id, each] as const) ?? []))
}

export type PagedList<T> = {
  /** The rows loaded so far; null until the first page has loaded. */
  rows: T[] | null
  error: unknown
  has_more: boolean
  is_loading_more: boolean
  loadMore(): void
  reload(): void
}

/** How long the pages of a list are kept for the way back to it. */
const LIST_KEPT_MS = 1_800_000

/** A list of the API page by page. The key begins with the noun of the path, so that live changes find it. */
export function usePagedList<T extends { id: string }>(
  key: readonly unknown[],
  path: string,
  query: Query = {},
  options: { refetchInterval?: number; enabled?: boolean } = {},
): PagedList<T> {
  const list = useInfiniteQuery({
    queryKey: [...key, query],
    queryFn: ({ pageParam, signal }) =>
      request<Page<T>>('GET', path, { query: { ...query, after: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => (page.has_more ? page.last_id : null),
    placeholderData: keepPreviousData,
    gcTime: LIST_KEPT_MS,
    ...options,
  })
  return {
    rows: list.data ? list.data.pages.flatMap(({ data }) => data) : null,
    error: list.error,
    has_more: list.hasNextPage,
    is_loading_more: list.isFetchingNextPage,
    loadMore: () => void list.fetchNextPage(),
    reload: () => void list.refetch(),
  }
}
