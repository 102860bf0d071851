import type { Db } from '../../../platform/db/db.ts'
import { UsageError } from '../../flags.ts'
import type { Report } from '../command.ts'
import { FILTERS, readFilters } from '../lists.ts'
import { type Column, tableLines } from './text.ts'

const TIME = '<24h or date>'
export const SINCE = {
  value: TIME,
  help: 'Not before, such as 90m, 24h, 7d, 2026-11-24 or 2026-11-24T08:00Z',
} as const

/** Flags of lists that may be long. */
export const WANTED = {
  org: FILTERS.org,
  since: SINCE,
  'older-than': { value: TIME, help: 'Only what is older, such as 10m' },
  oldest: { help: 'Oldest first' },
  limit: FILTERS.limit,
} as const

type Given = { [Name in 'org' | 'since' | 'older-than' | 'limit']: string | undefined } & { oldest: boolean }

export async function readWanted(db: Db, given: Given, now: Date) {
  return {
    ...(await readFilters({ db }, given)),
    since: readTime('since', given.since, now),
    before: readTime('older-than', given['older-than'], now),
    order: given.oldest ? ('asc' as const) : ('desc' as const),
  }
}

/** A time, or how long ago it was. Throws UsageError. */
export function readTime(flag: string, text: string | undefined, now: Date): Date | null {
  if (text === undefined) return null
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (count !== undefined) return new Date(now.getTime() - Number(count) * UNIT_SECONDS[unit]! * 1000)
  const date = new Date(text)
  if (/^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(date.getTime())) return date
  throw new UsageError(`--${flag} is neither an age such as 90m or 24h nor a date such as 2026-11-24T08:00Z`)
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** The statuses that a list of them names, with `unfinished` and `ended` for many; all of them without one. Throws UsageError. */
export function readStatuses<Status extends string>(
  text: string | undefined,
  all: readonly Status[],
  hasEnded: (status: Status) => boolean,
): Status[] {
  if (text === undefined) return [...all]
  const wanted = text.split(',').flatMap((word) => {
    if (word === 'ended' || word === 'unfinished') return all.filter((each) => hasEnded(each) === (word === 'ended'))
    const found = all.filter((each) => each === word)
    if (found.length === 0) throw new UsageError(`--status is none of unfinished, ended, ${all.join(', ')}`)
    return found
  })
  return [...new Set(wanted)]
}

/** How many of those that ended a list looks through, where no index has what is asked for: less than a second. */
export const READ_MAX = 100_000

/**
 * A list, with one row more than `limit` when there is more. `looked_until`: where the search ended although there may be others, because it
 * had read all that it may.
 */
export function pageReport<View extends Record<string, unknown>>(
  found: readonly View[],
  page: { limit: number; looked_until: Date | null; columns: ReadonlyArray<Column<View>> },
): Report {
  const { limit, looked_until, columns } = page
  const data = found.slice(0, limit)
  const has_more = found.length > limit
  const lines = tableLines(data, columns)
  if (has_more) lines.push('… and more: --limit, at most 1000')
  if (looked_until !== null) {
    lines.push(`Of those that ended, ${READ_MAX} were looked through, until ${looked_until.toISOString()}.`)
    lines.push('For the others: --since, --older-than or --org.')
  }
  return { json: { object: 'list', data, has_more, looked_until }, rows: lines.map((line) => [line]) }
}
