import type { Page } from '../../api/queries.ts'
import type { VideoJob } from '../jobs.ts'

/**
 * A long list of jobs, newest first, known by the positions where its pages begin. Pages come and go; where they begin and how
 * many jobs they hold is kept, so that the list keeps its height and any page can be asked for again.
 */
export type JobList = readonly PageMark[]

export type PageMark = {
  /** Jobs strictly older than this id; null for the newest. */
  after: string | null
  count: number
}

/** Where a list ends that is not known to its end. */
export type Tail = { has_more: boolean; next: string | null }

export type KnownList = { pages: JobList; tail: Tail }

/** Takes in a page as it was read after `after`: its length, jobs that came between, and whether more follow. */
export function withPage(list: KnownList | undefined, after: string | null, page: Page<VideoJob>): KnownList {
  const pages = list?.pages ?? []
  const at = pages.findIndex((mark) => mark.after === after)
  const next = at < 0 ? undefined : pages[at + 1]
  if (next) {
    const mark = { after, count: jobsWithin(page.data, next.after).length }
    // More came in than one page holds: another page begins where this one ends. It holds one job at least.
    const between = page.has_more && page.last_id !== null && page.last_id > next.after!
    const added = between ? [{ after: page.last_id, count: 1 }] : []
    return { pages: [...pages.slice(0, at), mark, ...added, ...pages.slice(at + 1)], tail: list!.tail }
  }
  const kept = at < 0 ? pages : pages.slice(0, at)
  const tail = { has_more: page.has_more, next: page.has_more ? page.last_id : null }
  return { pages: [...kept, { after, count: page.data.length }], tail }
}

/** The jobs of a page that are newer than or as old as where the next one begins. Ids are sortable by time. */
export function jobsWithin(jobs: readonly VideoJob[], next_after: string | null | undefined): readonly VideoJob[] {
  return next_after ? jobs.filter(({ id }) => id >= next_after) : jobs
}

/** Where the job with this place in the list is found: the page, and its place within. */
export function placeOf(pages: JobList, index: number): { page: number; within: number } | null {
  let passed = 0
  for (const [page, { count }] of pages.entries()) {
    if (index < passed + count) return { page, within: index - passed }
    passed += count
  }
  return null
}

export function lengthOf(pages: JobList): number {
  return pages.reduce((sum, { count }) => sum + count, 0)
}

/** A page with this job in it as it is now; the same page when it is no part of it. */
export function withJob(page: Page<VideoJob>, job: VideoJob): Page<VideoJob> {
  if (!page.data.some(({ id }) => id === job.id)) return page
  return { ...page, data: page.data.map((each) => (each.id === job.id ? job : each)) }
}
