import type { Page } from '../../api/queries.ts'
import type { VideoJob } from './job.ts'

/**
 * A long list of jobs, newest first, as the cursors where its pages begin. Pages are loaded and dropped; their cursors and job
 * counts are kept, so that the list keeps its height and any page can be read again.
 */
export type JobList = readonly PageMark[]

export type PageMark = {
  /** Jobs strictly older than this id; null for the newest. */
  after: string | null
  count: number
  days: readonly DayRun[]
}

/** Jobs in a row that were created on one day, `YYYY-MM-DD` where the reader is. */
export type DayRun = { day: string; count: number }

/** Whether more pages follow those known, and their cursor. */
export type Tail = { has_more: boolean; next: string | null }

export type KnownList = { pages: JobList; tail: Tail }

/** Adds the page that was read after `after`: its length, a page for jobs that arrived in between, and whether more follow. */
export function withPage(list: KnownList | undefined, after: string | null, page: Page<VideoJob>): KnownList {
  const pages = list?.pages ?? []
  const at = pages.findIndex((mark) => mark.after === after)
  const next = at < 0 ? undefined : pages[at + 1]
  if (next) {
    const mark = markOf(after, jobsWithin(page.data, next.after))
    // More jobs arrived than one page holds: another page begins where this one ends, with at least one job until it is read.
    const between = page.has_more && page.last_id !== null && page.last_id > next.after!
    const day = mark.days.at(-1)?.day ?? dayOf(Date.now() / 1000)
    const added = between ? [{ after: page.last_id, ...ofRuns([{ day, count: 1 }]) }] : []
    return { pages: [...pages.slice(0, at), mark, ...added, ...pages.slice(at + 1)], tail: list!.tail }
  }
  const before = at < 0 ? pages : pages.slice(0, at)
  const tail = { has_more: page.has_more, next: page.has_more ? page.last_id : null }
  return { pages: [...before, markOf(after, page.data)], tail }
}

function markOf(after: string | null, jobs: readonly VideoJob[]): PageMark {
  return { after, ...ofRuns(joined(jobs.map(({ created_at }) => ({ day: dayOf(created_at), count: 1 })))) }
}

function ofRuns(days: readonly DayRun[]): Omit<PageMark, 'after'> {
  return { count: days.reduce((sum, { count }) => sum + count, 0), days }
}

/** The day of a time in Unix seconds. */
export function dayOf(seconds: number): string {
  const at = new Date(seconds * 1000)
  const two = (part: number) => String(part).padStart(2, '0')
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
}

/** Neighbors of one day as one. */
export function joined(runs: readonly DayRun[]): DayRun[] {
  const all: DayRun[] = []
  for (const { day, count } of runs) {
    const last = all.at(-1)
    if (last?.day === day) last.count += count
    else all.push({ day, count })
  }
  return all
}

/** The jobs of a page that are newer than or as old as where the next one begins. Ids are sortable by time. */
export function jobsWithin(jobs: readonly VideoJob[], next_after: string | null | undefined): readonly VideoJob[] {
  return next_after ? jobs.filter(({ id }) => id >= next_after) : jobs
}

/** The page that holds the job at this index of the list, and its index there. */
export function placeOf(pages: JobList, index: number): { page: number; within: number } | null {
  let start = 0
  for (const [page, { count }] of pages.entries()) {
    if (index < start + count) return { page, within: index - start }
    start += count
  }
  return null
}

export function lengthOf(pages: JobList): number {
  return pages.reduce((sum, { count }) => sum + count, 0)
}

/** The page with these jobs, by their ids, updated; the same object when none of them is on it. */
export function withJobs(page: Page<VideoJob>, changed: ReadonlyMap<string, VideoJob>): Page<VideoJob> {
  if (!page.data.some(({ id }) => changed.has(id))) return page
  return { ...page, data: page.data.map((job) => changed.get(job.id) ?? job) }
}
