import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDueWindow } from './due-window.ts'

const at = (seconds: number) => new Date(seconds * 1000)

function windowAt() {
  const clock = { seconds: 100 }
  const window = openDueWindow(() => clock.seconds * 1000)
  /** One claim that takes `seconds`; its bound in seconds, null for a full scan. */
  const claim = (options: { seconds?: number; until?: number; fails?: boolean } = {}) => {
    const from = window.begin()
    clock.seconds += options.seconds ?? 0.001
    if (options.fails) window.failed()
    else window.succeeded(at(options.until ?? clock.seconds))
    return from && from.getTime() / 1000
  }
  return { clock, window, claim }
}

test('a claim begins half a second before where the last one ended, and once a second everything is scanned', () => {
  const { clock, claim } = windowAt()
  assert.equal(claim({ until: 100 }), null)
  assert.equal(claim({ until: 100.2 }), 99.5)
  assert.equal(claim(), 99.7)
  clock.seconds += 1
  assert.equal(claim(), null)
})

test('slow scans are made less often, but at least every ten seconds', () => {
  const { clock, claim } = windowAt()
  assert.equal(claim({ seconds: 0.1 }), null)
  clock.seconds += 4.9
  assert.notEqual(claim(), null)
  clock.seconds += 0.2
  assert.equal(claim({ seconds: 9 }), null)
  clock.seconds += 9.9
  assert.notEqual(claim(), null)
  clock.seconds += 0.2
  assert.equal(claim(), null)
})

test('after a scan that failed, claims go on from the last one that succeeded', () => {
  const { clock, claim } = windowAt()
  claim({ until: 100 })
  clock.seconds += 2
  assert.equal(claim({ seconds: 10, fails: true }), null)
  assert.equal(claim({ fails: true }), 99.5)
  assert.equal(claim(), 99.5)
})

test('a reset during a claim makes the next one a full scan', () => {
  const { window, claim } = windowAt()
  claim()
  assert.notEqual(window.begin(), null)
  window.reset()
  window.succeeded(at(101))
  assert.equal(claim(), null)
  window.begin()
  window.reset()
  window.failed()
  assert.equal(claim(), null)
})
