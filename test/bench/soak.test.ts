import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chartOf, ticksOf } from '../../bench/chat/soak/chart.ts'
import { growthOf } from '../../bench/chat/soak/growth.ts'

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
