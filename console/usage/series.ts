import type { Static } from 'typebox'
import type { UsageView } from '../../server/billing/schema.ts'
import { unitsOf } from '../ui/form/decimal.ts'

export type Usage = Static<typeof UsageView>
export type UsageSum = Usage['data'][number]

/** One colour of the chart. `others` gathers what has no colour of its own. */
export type Series = { key: string; id: string | null; others?: boolean }

/** A day with the height of each series in it. Heights are for the eye: the exact sums are those of the table. */
export type Day = { day: string } & Record<string, number | string>

export const SERIES_MAX = 6

/** The most expensive groups get a series each, in the order of `groups`, dearest first; the rest share the last one. */
export function seriesOf(groups: readonly UsageSum[]): Series[] {
  if (groups.length <= SERIES_MAX) return groups.map(({ group }, i) => ({ key: `s${i}`, id: group }))
  const named = groups.slice(0, SERIES_MAX - 1).map(({ group }, i) => ({ key: `s${i}`, id: group }))
  return [...named, { key: 'others', id: null, others: true }]
}

/** Sums by day and group, or by day alone, as rows of the chart. */
export function chartDays(days: readonly string[], sums: readonly UsageSum[], series: readonly Series[]): Day[] {
  const keys = new Map(series.filter(({ others }) => !others).map(({ id, key }) => [id, key]))
  const rows = new Map(days.map((day) => [day, { day } as Day]))
  for (const { group, subgroup, amount } of sums) {
    const row = rows.get(group ?? '')
    if (!row) continue
    const key = series.length === 0 ? 'total' : (keys.get(subgroup) ?? 'others')
    row[key] = Number(row[key] ?? 0) + Number(amount)
  }
  return [...rows.values()]
}

/** Dearest first; of the same amount in the order they came. */
export function dearestFirst(sums: readonly UsageSum[]): UsageSum[] {
  return [...sums].sort((a, b) => {
    const difference = unitsOf(b.amount) - unitsOf(a.amount)
    return difference > 0n ? 1 : difference < 0n ? -1 : 0
  })
}
