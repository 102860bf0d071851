import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chartOf, ticksOf } from '../../bench/chat/soak/chart.ts'
import { growthOf } from '../../bench/chat/soak/growth.ts'
import { compareRows, doubtsOf } from '../../bench/support/compare.ts'
import { figureOf } from '../../bench/support/figure.ts'
import { exitCodeOf } from '../../bench/support/report.ts'
import type { ResultRow, Results } from '../../bench/support/results.ts'
import { type RowFacts, rowOf } from '../../bench/support/row.ts'
import { tableOf } from '../../bench/support/table.ts'

const facts = { name: 'Poll', unit: 'µs CPU', rounds: [52, 50, 60] }

const quiet = {
  before: { load_1m: 0.2, busy_share: 0.01, steal_share: 0 },
  during: { foreign_share: 0, steal_share: 0 },
}

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
    name: 'nginx',
    figure: null,
    missing: 'not installed',
    ratio: null,
    difference: null,
    budget: { of: 'ratio', limit: 3.5 },
    ok: null,
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

test('growth is what the last fifth has above the second, and neither the start nor a peak counts', () => {
  const rising = Array.from({ length: 100 }, (_, i) => 200 + i)
  assert.equal(growthOf(rising), 60)
  const settled = [...Array.from({ length: 20 }, (_, i) => 100 + 10 * i), ...Array(80).fill(300)]
  assert.equal(growthOf(settled), 0)
  settled[30] = 900
  settled[95] = 900
  assert.equal(growthOf(settled), 0)
  assert.equal(growthOf([300, 310]), 10)
  assert.throws(() => growthOf([300]), /growth needs two samples/)
})

test('an axis begins at zero and has round steps up to at least the highest value', () => {
  assert.deepEqual(ticksOf(461), [0, 100, 200, 300, 400, 500])
  assert.deepEqual(ticksOf(60), [0, 10, 20, 30, 40, 50, 60])
  assert.deepEqual(ticksOf(1), [0, 0.2, 0.4, 0.6, 0.8, 1])
  assert.equal(ticksOf(2057).at(-1), 2500)
})

test('a chart draws each curve in its own panel, from left to right and up with the value', () => {
  const svg = chartOf('1,000 streams & one', [
    {
      title: 'Memory',
      unit: 'MB',
      points: [
        [0, 0],
        [1800, 400],
        [3600, 400],
      ],
    },
    {
      title: 'File descriptors',
      unit: 'open',
      points: [
        [0, 50],
        [3600, 100],
      ],
    },
  ])
  const curves = [...svg.matchAll(/points="([^"]+)"/g)].map(([, points]) => points)
  assert.deepEqual(curves, ['84,252 480,72 876,72', '84,390 876,300'])
  assert.match(svg, /<title>1,000 streams &amp; one<\/title>/)
  assert.match(svg, />60 min</)
})

test('a row is slower when its best round is worse than the worst round before', () => {
  const before = resultRow([100, 95, 110])
  assert.equal(verdict(before, resultRow([120, 111, 130])), 'slower')
  assert.equal(verdict(before, resultRow([120, 109, 130])), 'same', 'the ranges overlap')
  assert.equal(verdict(before, resultRow([90, 80, 94])), 'faster')
})

test('where more is better, less is slower', () => {
  const better = 'higher' as const
  const before = resultRow([800, 790, 820], { better })
  assert.equal(verdict(before, resultRow([700, 650, 780], { better })), 'slower')
  assert.equal(verdict(before, resultRow([900, 850, 950], { better })), 'faster')
})

test('medians within five percent are the same, however close the rounds of each are', () => {
  assert.equal(verdict(resultRow([100, 100, 100]), resultRow([104, 104, 104])), 'same')
  assert.equal(verdict(resultRow([100, 100, 100]), resultRow([106, 106, 106])), 'slower')
})

test('one round has no spread: it is slower only when a budget that was kept before is missed', () => {
  assert.equal(verdict(resultRow([10], { limit: 32 }), resultRow([30], { limit: 32 })), 'same')
  assert.equal(verdict(resultRow([10], { limit: 32 }), resultRow([33], { limit: 32 })), 'slower')
  assert.equal(verdict(resultRow([40], { limit: 32 }), resultRow([50], { limit: 32 })), 'same')
})

test('an exact budget that is missed is slower, on either side', () => {
  const exact = { better: 'exact' as const, limit: 100 }
  assert.equal(verdict(resultRow([100], exact), resultRow([99], exact)), 'slower')
  assert.equal(verdict(resultRow([100], exact), resultRow([100], exact)), 'same')
})

test('a row without a figure on either side is not measured, with the reason', () => {
  const missing = rowed({ name: 'Poll', unit: 'µs CPU', rounds: { missing: 'not installed' } })
  const texts = [
    compareRows([resultRow([1])], []),
    compareRows([resultRow([1])], [missing]),
    compareRows([missing], [resultRow([1])]),
  ].map(([change]) => [change!.verdict, change!.text])
  assert.deepEqual(texts, [
    ['not measured', 'no such row in this run'],
    ['not measured', 'not installed'],
    ['not measured', 'not measured before: not installed'],
  ])
})

test('a change is reported in percent, next to the change of its yardstick', () => {
  const yardsticks = (median: number) => [{ name: 'bare Node', rounds: [median] }]
  const before = resultRow([100, 98, 102], { yardsticks: yardsticks(40) })
  const [change] = compareRows([before], [resultRow([150, 148, 152], { yardsticks: yardsticks(60) })])
  assert.equal(change!.text, '100 → 150 µs CPU, +50 % (bare Node +50 %)')
})

test('a comparison with another machine, a busy machine or a quick run is doubtful', () => {
  const run = resultsOf([resultRow([1])])
  assert.deepEqual(doubtsOf(run, run), [])
  const other = { ...run, machine: { ...run.machine, node: 'v26.0.0', pinned: null }, quick: true }
  assert.deepEqual(doubtsOf(run, other), [
    'node: "v24.21.0" then, "v26.0.0" now',
    'pinned: {"subject":[0],"generator":[1]} then, null now',
    'a quick run measures nothing',
  ])
  const busy = resultsOf([{ ...resultRow([1]), busy: ['load average 2.0, over 1'] }])
  assert.deepEqual(doubtsOf(busy, run), ['the machine was busy then'])
  assert.deepEqual(doubtsOf(run, busy), ['the machine was busy now'])
})

test('a yardstick that changed is attributed to the machine: it raises a doubt and does not count as slower', () => {
  const yardstick = (rounds: number[]) => resultsOf([{ ...resultRow(rounds, { name: 'nginx' }), bench: 'yardsticks' }])
  const [then, now] = [yardstick([10, 11]), yardstick([20, 21])]
  assert.deepEqual(doubtsOf(then, now), ['the machine is slower: nginx, 10.5 → 20.5 µs CPU, +95 %'])
  assert.equal(exitCodeOf(now, { earlier: then, strict: false }), 0)
})

test('the exit code is 1 for what became slower or else for a missed budget, and 3 for a busy machine under --strict', () => {
  const missed = resultsOf([resultRow([100, 101], { limit: 50 })])
  const kept = resultsOf([resultRow([100, 101], { limit: 200 })])
  const faster = resultsOf([resultRow([50, 51])])
  const busy = resultsOf([{ ...resultRow([100, 101]), busy: ['load average 2.0, over 1'] }])
  const plain = { earlier: null, strict: false }
  assert.deepEqual(
    [missed, kept, busy].map((run) => exitCodeOf(run, plain)),
    [1, 0, 0],
  )
  assert.equal(exitCodeOf({ ...missed, quick: true }, plain), 0, 'a quick run proves nothing')
  assert.equal(exitCodeOf(missed, { ...plain, earlier: kept }), 0, 'a budget missed then and now is no change')
  assert.equal(exitCodeOf(kept, { ...plain, earlier: faster }), 1)
  const strict = { earlier: null, strict: true }
  assert.deepEqual(
    [busy, kept].map((run) => exitCodeOf(run, strict)),
    [3, 0],
  )
  assert.equal(exitCodeOf({ ...kept, refused: { bench: 'poll', busy: ['load average 2.0, over 1'] } }, strict), 3)
})

function verdict(before: ResultRow, now: ResultRow): string {
  return compareRows([before], [now])[0]!.verdict
}

function resultRow(rounds: number[], facts: Partial<RowFacts> = {}): ResultRow {
  return rowed({ name: 'Poll', unit: 'µs CPU', ...facts, rounds })
}

function rowed(facts: RowFacts): ResultRow {
  return { ...rowOf(facts), ...quiet, bench: 'poll', busy: [] }
}

function resultsOf(rows: ResultRow[]): Results {
  return {
    ...{
      schema: 1,
      name: 'a',
      started_at: '2026-11-22T00:00:00.000Z',
      seconds: 1,
      quick: false,
      commit: null,
      refused: null,
    },
    machine: {
      cpu: 'x',
      cores: 2,
      memory_gb: 8,
      os: 'Linux',
      node: 'v24.21.0',
      postgres: '18.4',
      nginx: null,
      pinned: { subject: [0], generator: [1] },
    },
    rows,
  }
}
