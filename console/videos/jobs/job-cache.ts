import { type QueryClient, type QueryKey, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { failureOf } from '../../api/failure.ts'
import { showLiveVideos, usePollMs } from '../../api/live.ts'
import type { Page } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { isDeleting } from '../../ui/overlay/undo.tsx'
import { isRunning, type VideoJob, videoPath } from './job.ts'
import { type KnownList, withJobs, withPage } from './list-pages.ts'
import { forgetPending } from './pending.ts'

const LIST_KEY = ['video-list'] as const
const PAGE_LIMIT = 100
/** Pages out of view are dropped after this long, so that a long list uses no more memory than a short one. */
const PAGE_KEPT_MS = 30_000

showLiveVideos((queries, videos) => {
  const changed = videos.flatMap((video) => ('deleted' in video || isDeleting(videoPath(video.id)) ? [] : [video]))
  for (const video of videos) if ('deleted' in video) forgetJob(queries, video.id)
  applyJobs(queries, changed)
})

/** One page of jobs, newest first; reading it also updates the known list. It is polled every `poll_ms` while one of its jobs runs. */
export function pageQuery(queries: QueryClient, after: string | null, poll_ms: number | false = false) {
  return queryOptions({
    queryKey: ['videos', 'page', after],
    queryFn: async ({ signal }) => {
      const read = await request<Page<VideoJob>>('GET', '/v1/videos', { query: { limit: PAGE_LIMIT, after }, signal })
      const page = { ...read, data: read.data.filter(({ id }) => !isDeleting(videoPath(id))) }
      queries.setQueryData<KnownList>(LIST_KEY, (list) => withPage(list, after, page))
      return page
    },
    gcTime: PAGE_KEPT_MS,
    // Comparing a page member by member costs more than drawing its few visible cards again.
    structuralSharing: false,
    refetchInterval: ({ state }) => (state.data?.data.some(isRunning) ? poll_ms : false),
  })
}

/** Where each page of the list begins, as far as it was read. */
export function useKnownList(): KnownList | null {
  const { data } = useQuery<KnownList>({
    queryKey: LIST_KEY,
    queryFn: () => ({ pages: [], tail: { has_more: false, next: null } }),
    enabled: false,
    gcTime: Number.POSITIVE_INFINITY,
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

/** Updates jobs wherever they are cached; new ones go to the top of the list. A job that has ended stays ended. */
function applyJobs(queries: QueryClient, jobs: readonly VideoJob[]): void {
  const listed = pagesOf(queries).flatMap(([, { data }]) => data)
  const single = queries.getQueriesData<VideoJob>({ queryKey: ['videos', 'job'] }).flatMap(([, job]) => job ?? [])
  const shown = new Map([...listed, ...single].map((job) => [job.id, job]))
  const changed = new Map<string, VideoJob>()
  const added: VideoJob[] = []
  for (const job of jobs) {
    const known = shown.get(job.id)
    if (!known) added.push(job)
    else if (isRunning(known) || !isRunning(job)) changed.set(job.id, job)
  }
  queries.setQueriesData<VideoJob>({ queryKey: ['videos', 'job'] }, (job) => job && (changed.get(job.id) ?? job))
  queries.setQueriesData<Page<VideoJob>>({ queryKey: ['videos', 'page'] }, (page) => page && withJobs(page, changed))
  for (const job of added.toSorted((a, b) => (a.id < b.id ? -1 : 1))) addFirst(queries, job)
}

export function applyJob(queries: QueryClient, job: VideoJob): void {
  applyJobs(queries, [job])
}

/** Removes a deleted job from the cache. */
export function forgetJob(queries: QueryClient, id: string): void {
  queries.removeQueries({ queryKey: ['videos', 'job', id] })
  const holding = pagesOf(queries).find(([, page]) => page.data.some((job) => job.id === id))
  if (!holding) return
  const [key, page] = holding
  const left = { ...page, data: page.data.filter((job) => job.id !== id) }
  const after = key[2] as string | null
  queries.setQueryData(key, left)
  queries.setQueryData<KnownList>(LIST_KEY, (list) => withPage(list, after, left))
}

function addFirst(queries: QueryClient, job: VideoJob): void {
  const key = ['videos', 'page', null]
  const head = queries.getQueryData<Page<VideoJob>>(key)
  if (!head || (head.first_id !== null && head.first_id > job.id)) return
  forgetPending(queries, ({ request: { prompt } }) => prompt === job.prompt)
  const page = { ...head, data: [job, ...head.data], first_id: job.id, last_id: head.last_id ?? job.id }
  queries.setQueryData(key, page)
  queries.setQueryData<KnownList>(LIST_KEY, (list) => withPage(list, null, page))
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
