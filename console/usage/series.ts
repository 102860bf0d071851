import type { Static } from 'typebox'
import type { UsageView } from '../../server/billing/schema.ts'
import { unitsOf } from '../api/money.ts'

export type Usage = Static<typeof UsageView>
export type UsageSum = Usage['data'][number]

/** One color of the chart. `others` sums the groups that have no color of their own. */
export type Series = { key: string; id: string | null; others?: boolean }

/** A day with the height of each series. Heights are floats for drawing; the table has the exact totals. */
export type Day = { day: string } & Record<string, number | string>

export const SERIES_MAX = 6

/** One series for each of the most expensive groups, in the order of `groups`; the rest share the last one. */
export function seriesOf(groups: readonly UsageSum[]): Series[] {
  if (groups.length <= SERIES_MAX) return groups.map(({ group }, i) => ({ key: `s${i}`, id: group }))
  const named = groups.slice(0, SERIES_MAX - 1).map(({ group }, i) => ({ key: `s${i}`, id: group }))
  return [...named, { key: 'others', id: null, others: true }]
}

/** Totals by day and group, or by day alone, as rows of the chart. */
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

/** Highest cost first; equal amounts keep their order. */
export function byCost(sums: readonly UsageSum[]): UsageSum[] {
  return [...sums].sort((a, b) => {
    const difference = unitsOf(b.amount) - unitsOf(a.amount)
    return difference > 0n ? 1 : difference < 0n ? -1 : 0
  })
}
