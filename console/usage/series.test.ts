import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boundsOf, daysOf, lastDays } from './period.ts'
import { byCost, chartDays, SERIES_MAX, seriesOf, type UsageSum } from './series.ts'

const sum = (group: string | null, amount: string, subgroup: string | null = null): UsageSum => ({
  group,
  subgroup,
  amount,
  name: null,
  subgroup_name: null,
  charges: 1,
  video_seconds: 0,
  input_tokens: 0,
  output_tokens: 0,
})

test('a period has each of its days once, across months and leap days', () => {
  assert.deepEqual(daysOf({ from: '2028-02-28', to: '2028-03-01' }), ['2028-02-28', '2028-02-29', '2028-03-01'])
  assert.deepEqual(lastDays(7, new Date('2026-03-02T23:59:59Z')), { from: '2026-02-24', to: '2026-03-02' })
  assert.deepEqual(boundsOf({ from: '2026-01-01', to: '2026-01-01' }), { from: 1767225600, to: 1767312000 })
  assert.equal(boundsOf({ from: '2026-01-02', to: '2026-01-01' }), null)
  assert.equal(boundsOf({ from: '', to: '2026-01-01' }), null)
})

test('amounts beyond the precision of numbers are ordered correctly', () => {
  const sums = [sum('a', '90071992547409.92000000'), sum('b', '90071992547409.92000001'), sum('c', '0.00000001')]
  assert.deepEqual(
    byCost(sums).map(({ group }) => group),
    ['b', 'a', 'c'],
  )
})

test('groups without a series of their own are summed as others, and nothing is left out', () => {
  const groups = Array.from({ length: SERIES_MAX + 2 }, (_, i) => sum(`m${i}`, '1.00000000'))
  const series = seriesOf(groups)
  assert.equal(series.length, SERIES_MAX)
  const rows = chartDays(
    ['2026-01-01', '2026-01-02'],
    groups.map(({ group }) => sum('2026-01-02', '1.00000000', group)),
    series,
  )
  assert.deepEqual(rows[0], { day: '2026-01-01' })
  assert.equal(rows[1]!.others, 3)
  assert.equal(rows[1]!.s0, 1)
})

test('a call without a key is a series like any other', () => {
  const series = seriesOf([sum(null, '2.00000000'), sum('key_1', '1.00000000')])
  const rows = chartDays(['2026-01-01'], [sum('2026-01-01', '2.00000000', null)], series)
  assert.equal(rows[0]!.s0, 2)
})
