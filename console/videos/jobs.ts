import { keepPreviousData, type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Static } from 'typebox'
import type { AcceptanceView, VideoModelView, VideoView } from '../../server/videos/schema.ts'
import { failureOf } from '../api/failure.ts'
import { showLiveVideos, usePollMs } from '../api/live.ts'
import type { Page } from '../api/queries.ts'
import { request } from '../api/request.ts'
import { type KnownList, withJob, withPage } from './gallery/job-list.ts'
import { forgetPending } from './gallery/pending.ts'

export type VideoJob = VideoView
export type VideoModel = Static<typeof VideoModelView>
export type Acceptance = Static<typeof AcceptanceView>

const LIST_KEY = ['video-list'] as const
const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'canceled'])
const PAGE_LIMIT = 100
/** Pages out of sight are forgotten after this long, so that a long list takes no more memory than a short one. */
const PAGE_KEPT_MS = 30_000

showLiveVideos((queries, video) => {
  if ('deleted' in video) forgetJob(queries, video.id)
  else applyJob(queries, video)
})

/** Whether a job still moves. A status nobody here knows is one that does. */
export function isRunning({ status }: Pick<VideoJob, 'status'>): boolean {
  return !ENDED.has(status)
}

export function videoPath(id: string): string {
  return `/v1/videos/${encodeURIComponent(id)}`
}

export function contentPath(id: string): string {
  return `${videoPath(id)}/content`
}

/** One page of jobs, newest first; reading it also keeps the list's marks. `poll_ms` is how often to ask while one of them moves. */
export function pageQuery(queries: QueryClient, after: string | null, poll_ms: number | false = false) {
  return queryOptions({
    queryKey: ['videos', 'page', after],
    queryFn: async ({ signal }) => {
      const page = await request<Page<VideoJob>>('GET', '/v1/videos', { query: { limit: PAGE_LIMIT, after }, signal })
      queries.setQueryData<KnownList>(LIST_KEY, (list) => withPage(list, after, page))
      return page
    },
    gcTime: PAGE_KEPT_MS,
    refetchInterval: ({ state }) => (state.data?.data.some(isRunning) ? poll_ms : false),
  })
}

/** Where the pages of the list begin, as far as they were read. */
export function useKnownList(): KnownList | null {
  const { data } = useQuery<KnownList>({
    queryKey: LIST_KEY,
    queryFn: () => ({ pages: [], tail: { has_more: false, next: null } }),
    enabled: false,
    gcTime: Number.POSITIVE_INFINITY,
  })
  return data ?? null
}

/** One job, also while it moves. */
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

/** The models of the plan, as the API lists them. */
export function useVideoModels() {
  return useQuery({
    queryKey: ['video-models'],
    queryFn: ({ signal }) => request<{ data: VideoModel[] }>('GET', '/v1/videos/models', { signal }),
    staleTime: 300_000,
    select: ({ data }) => data,
    placeholderData: keepPreviousData,
  })
}

const ACCEPTANCE_KEY = ['video-acceptance'] as const

/** Whether the person has agreed to the terms in force. */
export function useAcceptance() {
  return useQuery({
    queryKey: ACCEPTANCE_KEY,
    queryFn: ({ signal }) => request<Acceptance>('GET', '/v1/videos/acceptance', { signal }),
    staleTime: 300_000,
  })
}

/** Agrees to this version. Rejects with `terms_version_mismatch` when it is not in force any more; the one that is, is shown then. */
export async function agreeToTerms(queries: QueryClient, terms_version: string): Promise<void> {
  try {
    const agreed = await request<Acceptance>('POST', '/v1/videos/acceptance', { body: { terms_version } })
    queries.setQueryData(ACCEPTANCE_KEY, agreed)
  } catch (error) {
    await reloadAcceptance(queries)
    throw error
  }
}

export function reloadAcceptance(queries: QueryClient): Promise<void> {
  return queries.invalidateQueries({ queryKey: ACCEPTANCE_KEY })
}

/** Shows a job as it is now wherever it is shown; a new one comes first in the list. A job that has ended stays ended. */
export function applyJob(queries: QueryClient, job: VideoJob): void {
  const known = queries.getQueryData<VideoJob>(['videos', 'job', job.id]) ?? findInPages(queries, job.id)
  if (known && !isRunning(known) && isRunning(job)) return
  queries.setQueryData<VideoJob>(['videos', 'job', job.id], (shown) => shown && job)
  queries.setQueriesData<Page<VideoJob>>({ queryKey: ['videos', 'page'] }, (page) => page && withJob(page, job))
  if (!known) addFirst(queries, job)
}

/** Takes a deleted job out of everything that shows it. */
export function forgetJob(queries: QueryClient, id: string): void {
  queries.removeQueries({ queryKey: ['videos', 'job', id] })
  const pages = queries.getQueriesData<Page<VideoJob>>({ queryKey: ['videos', 'page'] })
  const holding = pages.find(([, page]) => page?.data.some((job) => job.id === id))
  if (!holding) return
  const [key, page] = holding
  const left = { ...page!, data: page!.data.filter((job) => job.id !== id) }
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
  const pages = queries.getQueriesData<Page<VideoJob>>({ queryKey: ['videos', 'page'] })
  return pages.flatMap(([, page]) => page?.data ?? []).find((job) => job.id === id)
}
