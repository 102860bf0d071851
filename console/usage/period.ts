const DAY_SECONDS = 86_400

/** Whole days of UTC as `YYYY-MM-DD`, both included. */
export type Period = { from: string; to: string }

/** How a period is chosen: the last days up to today, or any two days. */
export const SPANS = ['7', '30', '90'] as const
export type Span = (typeof SPANS)[number] | 'custom'

/** The period in the address of the page. */
export type PeriodSearch = { days?: string | number; from?: string | number; to?: string | number }

export function spanOf({ days, from, to }: PeriodSearch): Span {
  if (from !== undefined && to !== undefined) return 'custom'
  return SPANS.find((span) => span === String(days)) ?? '30'
}

export function periodOf(search: PeriodSearch): Period {
  const span = spanOf(search)
  if (span === 'custom') return { from: String(search.from), to: String(search.to) }
  return lastDays(Number(span), new Date())
}

/** The last `days` days, today among them. */
export function lastDays(days: number, now: Date): Period {
  return { from: dayOf(now.getTime() - (days - 1) * DAY_SECONDS * 1000), to: dayOf(now.getTime()) }
}

/** The period in Unix seconds, its end not included; null when it ends before it begins or is no date. */
export function boundsOf({ from, to }: Period): { from: number; to: number } | null {
  const start = Date.parse(`${from}T00:00:00Z`) / 1000
  const end = Date.parse(`${to}T00:00:00Z`) / 1000 + DAY_SECONDS
  return Number.isFinite(start) && Number.isFinite(end) && start < end ? { from: start, to: end } : null
}

/** Every day of the period, including days without usage. */
export function daysOf(period: Period): string[] {
  const bounds = boundsOf(period)
  if (!bounds) return []
  const count = Math.round((bounds.to - bounds.from) / DAY_SECONDS)
  return Array.from({ length: count }, (_, i) => dayOf((bounds.from + i * DAY_SECONDS) * 1000))
}

function dayOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 10)
}
