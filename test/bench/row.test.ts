import assert from 'node:assert/strict'
import { test } from 'node:test'
import { figureOf } from '../../bench/support/figure.ts'
import { rowOf } from '../../bench/support/row.ts'
import { tableOf } from '../../bench/support/table.ts'

const facts = { name: 'Poll', unit: 'µs CPU', rounds: [52, 50, 60] }

test('a figure is the median of its rounds, with their range', () => {
  assert.deepEqual(figureOf([3, 1, 2]), { median: 2, min: 1, max: 3, rounds: [3, 1, 2] })
  assert.equal(figureOf([4, 1, 2, 3]).median, 2.5)
  assert.equal(figureOf([9, 10, 100]).median, 10)
  assert.throws(() => figureOf([]), /a figure needs a round/)
})

test('a budget bounds the figure from above, from below or exactly', () => {
  assert.equal(rowOf({ ...facts, limit: 52 }).ok, true)
  assert.equal(rowOf({ ...facts, limit: 51 }).ok, false)
  assert.equal(rowOf({ ...facts, better: 'higher', limit: 52 }).ok, true)
  assert.equal(rowOf({ ...facts, better: 'higher', limit: 53 }).ok, false)
  assert.equal(rowOf({ ...facts, better: 'exact', limit: 52 }).ok, true)
  assert.equal(rowOf({ ...facts, better: 'exact', limit: 51 }).ok, false)
  assert.equal(rowOf(facts).ok, null)
})

test('a yardstick is compared by ratio and difference of the medians, and its own budget judges the row', () => {
  const row = rowOf({
    ...facts,
    limit: 60,
    yardsticks: [{ name: 'bare Node', rounds: [40, 41, 39], ratio_limit: 1.3 }],
  })
  const [{ ratio, difference, ok }] = row.yardsticks as [(typeof row.yardsticks)[number]]
  assert.deepEqual({ ratio, difference, ok, row: row.ok }, { ratio: 1.3, difference: 12, ok: true, row: true })
  const missed = rowOf({ ...facts, limit: 60, yardsticks: [{ name: 'alone', rounds: [40], difference_limit: 11 }] })
  assert.deepEqual([missed.yardsticks[0]!.ok, missed.ok], [false, false])
})

test('a yardstick that is not installed says so and judges nothing', () => {
  const nginx = { name: 'nginx', rounds: { missing: 'not installed' }, ratio_limit: 3.5 }
  const row = rowOf({ ...facts, yardsticks: [nginx] })
  assert.deepEqual(row.yardsticks[0], {
    ...{ name: 'nginx', figure: null, missing: 'not installed', ratio: null, difference: null },
    ...{ budget: { of: 'ratio', limit: 3.5 }, ok: null },
  })
  assert.equal(row.ok, null)
})

test('the table shows every yardstick with its own verdict', () => {
  const yardsticks = [
    { name: 'bare Node', rounds: [26, 25, 27], ratio_limit: 1.3 },
    { name: 'nginx', rounds: { missing: 'not installed' }, ratio_limit: 3.5 },
  ]
  const lines = tableOf([rowOf({ ...facts, limit: 60, yardsticks })]).split('\n')
  assert.deepEqual(
    lines.map((line) => line.trim().split(/ {2,}/)),
    [
      ['figure', 'yardstick', 'ratio', 'budget'],
      ['Poll', '52 (50–60) µs CPU', '—', '—', '≤ 60 µs CPU', 'ok'],
      ['bare Node 26 (25–27)', '2.00', '≤ 1.3 ×', 'MISSED'],
      ['nginx: not installed', '—', '≤ 3.5 ×', 'not judged'],
    ],
  )
})

test('the note of a yardstick stands below the table once, when the yardstick was measured', () => {
  const row = (name: string, rounds: readonly number[] | { missing: string }) =>
    rowOf({ ...facts, name, yardsticks: [{ name: 'gateway', rounds, note: 'no key check' }] })
  const measured = [row('Poll', [26]), row('List', [30])]
  assert.equal(measured[0]!.yardsticks[0]!.note, 'no key check')
  assert.deepEqual(tableOf(measured).split('\n').slice(3), ['', 'gateway: no key check'])
  assert.equal(tableOf([row('Poll', { missing: 'not installed' })]).split('\n').length, 2)
})
