import { type QueryClient, type QueryKey, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { failureOf } from '../../api/failure.ts'
import { showLiveVideos, usePollMs } from '../../api/live.ts'
import { type Paced, paced } from '../../api/paced.ts'
import type { Page } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { isDeleting } from '../../ui/overlay/undo.tsx'
import { isRunning, type VideoJob, videoPath } from './job.ts'
import { type KnownList, withJobs, withPage } from './list-pages.ts'
import { forgetPending } from './pending.ts'

/** Which jobs a list has, as the query of its requests; none for all. */
export type ListFilter = Readonly<Record<string, string | number | boolean>>
export const ALL: ListFilter = {}

const PAGE_LIMIT = 100
/** Pages out of view are dropped after this long, so that a long list uses no more memory than a short one. */
const PAGE_KEPT_MS = 30_000
/** A filtered list is read again at most this often, however much happens. */
const HEAD_PACE_MS = 2_000

showLiveVideos((queries, videos) => {
  const changed = videos.flatMap((video) => ('deleted' in video || isDeleting(videoPath(video.id)) ? [] : [video]))
  for (const video of videos) if ('deleted' in video) forgetJob(queries, video.id)
  applyJobs(queries, changed)
})

/** One page of jobs, newest first; reading it also updates the known list. It is polled every `poll_ms` while one of its jobs runs. */
export function pageQuery(
  queries: QueryClient,
  after: string | null,
  poll_ms: number | false = false,
  filter: ListFilter = ALL,
) {
  return queryOptions({
    queryKey: pageKey(after, filter),
    queryFn: async ({ signal }) => {
      const query = { ...filter, limit: PAGE_LIMIT, after }
      const read = await request<Page<VideoJob>>('GET', '/v1/videos', { query, signal })
      const page = { ...read, data: read.data.filter(({ id }) => !isDeleting(videoPath(id))) }
      queries.setQueryData<KnownList>(listKey(filter), (list) => withPage(list, after, page))
      return page
    },
    gcTime: PAGE_KEPT_MS,
    // Comparing a page member by member costs more than drawing its few visible cards again.
    structuralSharing: false,
    refetchInterval: ({ state }) => (state.data?.data.some(isRunning) ? poll_ms : false),
  })
}

const pageKey = (after: string | null, filter: ListFilter) => ['videos', 'page', after, filter] as const
const listKey = (filter: ListFilter) => ['video-list', filter] as const

/** Where each page of the list begins, as far as it was read. */
export function useKnownList(filter: ListFilter = ALL): KnownList | null {
  const { data } = useQuery<KnownList>({
    queryKey: listKey(filter),
    queryFn: () => ({ pages: [], tail: { has_more: false, next: null } }),
    enabled: false,
    ...(filter === ALL && { gcTime: Number.POSITIVE_INFINITY }),
  })
  return data ?? null
}

/** One job, polled while it runs. */
export function useJob(id: string) {
  const queries = useQueryClient()
  const poll = usePollMs()
  return useQuery({
    queryKey: ['videos', 'job', id],
    queryFn: ({ signal }) => request<VideoJob>('GET', videoPath(id), { signal }),
    placeholderData: () => findInPages(queries, id),
    refetchInterval: ({ state }) => (state.data && isRunning(state.data) ? poll : false),
    retry: (count, error) => failureOf(error).status !== 404 && count < 2,
  })
}

/**
 * Updates jobs wherever they are cached; new ones go to the top of the list of all. A filtered list is asked for its first page again when
 * there may be another job in it. A job that has ended stays ended.
 */
export function applyJobs(queries: QueryClient, jobs: readonly VideoJob[]): void {
  const listed = pagesOf(queries).flatMap(([, { data }]) => data)
  const single = queries.getQueriesData<VideoJob>({ queryKey: ['videos', 'job'] }).flatMap(([, job]) => job ?? [])
  const shown = new Map([...listed, ...single].map((job) => [job.id, job]))
  const changed = new Map<string, VideoJob>()
  const added: VideoJob[] = []
  let moved = false
  for (const job of jobs) {
    const known = shown.get(job.id)
    if (known?.status !== job.status) moved = true
    if (!known) added.push(job)
    else if (isRunning(known) || !isRunning(job)) changed.set(job.id, job)
  }
  queries.setQueriesData<VideoJob>({ queryKey: ['videos', 'job'] }, (job) => job && (changed.get(job.id) ?? job))
  queries.setQueriesData<Page<VideoJob>>({ queryKey: ['videos', 'page'] }, (page) => page && withJobs(page, changed))
  for (const job of added.toSorted((a, b) => (a.id < b.id ? -1 : 1))) addFirst(queries, job)
  if (moved) headsOf(queries).ask()
}

const headsAgain = new WeakMap<QueryClient, Paced>()

/** Reads the first page of each filtered list again. What is being read is left to end, and read again then. */
function headsOf(queries: QueryClient): Paced {
  const filters = { predicate: ({ queryKey }: { queryKey: QueryKey }) => isFilteredHead(queryKey) }
  const known = headsAgain.get(queries)
  if (known) return known
  const again = paced(() => {
    if (queries.isFetching(filters) > 0) again.ask()
    else void queries.invalidateQueries(filters)
  }, HEAD_PACE_MS)
  headsAgain.set(queries, again)
  return again
}

/** Something has changed by which lists are filtered. */
export function refreshFiltered(queries: QueryClient): void {
  headsOf(queries).ask()
}

function isFilteredHead([noun, kind, after, filter]: QueryKey): boolean {
  return noun === 'videos' && kind === 'page' && after === null && Object.keys(filter as ListFilter).length > 0
}

export function applyJob(queries: QueryClient, job: VideoJob): void {
  applyJobs(queries, [job])
}

/** Removes a deleted job from the cache. */
export function forgetJob(queries: QueryClient, id: string): void {
  queries.removeQueries({ queryKey: ['videos', 'job', id] })
  for (const [key, page] of pagesOf(queries)) {
    if (!page.data.some((job) => job.id === id)) continue
    const left = { ...page, data: page.data.filter((job) => job.id !== id) }
    const [, , after, filter] = key as ReturnType<typeof pageKey>
    queries.setQueryData(key, left)
    queries.setQueryData<KnownList>(listKey(filter), (list) => withPage(list, after, left))
  }
}

function addFirst(queries: QueryClient, job: VideoJob): void {
  const key = pageKey(null, ALL)
  const head = queries.getQueryData<Page<VideoJob>>(key)
  if (!head || (head.first_id !== null && head.first_id > job.id)) return
  forgetPending(queries, ({ request: { prompt } }) => prompt === job.prompt)
  const page = { ...head, data: [job, ...head.data], first_id: job.id, last_id: head.last_id ?? job.id }
  queries.setQueryData(key, page)
  queries.setQueryData<KnownList>(listKey(ALL), (list) => withPage(list, null, page))
}

function findInPages(queries: QueryClient, id: string): VideoJob | undefined {
  return pagesOf(queries)
    .flatMap(([, { data }]) => data)
    .find((job) => job.id === id)
}

/** The pages that are loaded. */
function pagesOf(queries: QueryClient): Array<[QueryKey, Page<VideoJob>]> {
  const pages = queries.getQueriesData<Page<VideoJob>>({ queryKey: ['videos', 'page'] })
  return pages.flatMap(([key, page]) => (page ? [[key, page]] : []))
}
