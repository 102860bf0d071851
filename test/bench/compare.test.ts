import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareRows, doubtsOf } from '../../bench/support/compare.ts'
import { exitCodeOf } from '../../bench/support/report.ts'
import type { ResultRow, Results } from '../../bench/support/results.ts'
import { type RowFacts, rowOf } from '../../bench/support/row.ts'

const quiet = {
  before: { load_1m: 0.2, busy_share: 0.01, steal_share: 0 },
  during: { foreign_share: 0, steal_share: 0 },
}

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
      ...{ cpu: 'x', cores: 2, memory_gb: 8, os: 'Linux', node: 'v24.21.0', postgres: '18.4', nginx: null },
      pinned: { subject: [0], generator: [1] },
    },
    rows,
  }
}
