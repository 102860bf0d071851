import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLeftOut, upstreamHealth } from './upstream-health.ts'

const any = { healthy: false }

test('servers are chosen in proportion to their weights', () => {
  const { health } = withChance([1, 3], (i) => i / 1000)
  const counts = [0, 0]
  for (let i = 0; i < 1000; i++) counts[health.pick([], any)!]! += 1
  assert.deepEqual(counts, [250, 750])
})

test('a server is never picked twice for one request', () => {
  const { health } = withChance([1, 1, 1])
  const tried: number[] = []
  for (let pick = health.pick(tried, any); pick !== null; pick = health.pick(tried, any)) tried.push(pick)
  assert.deepEqual(tried.toSorted(), [0, 1, 2])
})

test('after three faults in a row a server is left out, probed once after its pause, and back after a success', () => {
  const { health, time } = withChance([1, 1])
  fail(health, 0, 2)
  health.report(0, 'worked')
  fail(health, 0, 2)
  assert.equal(health.pick([], any), 0)
  fail(health, 0, 1)
  assert.equal(health.pick([], any), 1)
  time.now += 5_000
  assert.equal(health.pick([], any), 0)
  assert.equal(health.pick([], any), 1, 'only one probe at a time')
  health.report(0, 'worked')
  assert.equal(health.pick([], any), 0)
})

test('a server is left out until a call works again, or so long after its pause that nothing is known of it', () => {
  const { health, time } = withChance([1, 1])
  fail(health, 0, 2)
  assert.equal(isLeftOut(health.stateOf(0), time.now), false)
  fail(health, 0, 1)
  assert.equal(isLeftOut(health.stateOf(0), time.now), true)
  time.now += 5_000
  assert.equal(isLeftOut(health.stateOf(0), time.now), true, 'not called since')
  assert.equal(health.pick([], any), 0)
  health.report(0, 'worked')
  assert.equal(isLeftOut(health.stateOf(0), time.now), false)
  fail(health, 0, 3)
  time.now += 5_000 + 180_000
  assert.equal(isLeftOut(health.stateOf(0), time.now), false)
})

test('a failed probe doubles the pause, up to a minute', () => {
  const { health, time } = withChance([1, 1])
  fail(health, 0, 3)
  for (const pause of [5, 10, 20, 40, 60, 60]) {
    time.now += pause * 1000 - 1
    assert.equal(health.pick([], any), 1, `still left out before ${pause} s`)
    time.now += 1
    assert.equal(health.pick([], any), 0, `probed after ${pause} s`)
    health.report(0, 'failed')
  }
})

test('a probe the caller gave up lets the next one through', () => {
  const { health, time } = withChance([1, 1])
  fail(health, 0, 3)
  time.now += 5_000
  assert.equal(health.pick([], any), 0)
  health.report(0, 'neutral')
  assert.equal(health.pick([], any), 0)
})

test('a server that asked for a pause gets it, also when an older call then succeeds', () => {
  const { health, time } = withChance([1, 1])
  health.pause(0, 7)
  health.report(0, 'worked')
  assert.equal(health.pick([], any), 1)
  time.now += 7_000
  assert.equal(health.pick([], any), 0)
})

test('when no server is believed to work, the one whose pause ends first is tried, unless only a healthy one will do', () => {
  const { health, time } = withChance([1, 1])
  fail(health, 0, 3)
  time.now += 1
  fail(health, 1, 3)
  assert.equal(health.pick([], any), 0)
  assert.equal(health.pick([0], { healthy: true }), null)
  assert.equal(health.pick([0], any), 1)
})

test('a lone server is always tried', () => {
  const { health } = withChance([1])
  fail(health, 0, 10)
  assert.equal(health.pick([], any), 0)
  assert.equal(health.pick([0], any), null)
})

function withChance(weights: number[], chances: (call: number) => number = () => 0) {
  const time = { now: 1000 }
  let calls = 0
  return { time, health: upstreamHealth(weights, { random: () => chances(calls++), now: () => time.now }) }
}

function fail(health: ReturnType<typeof upstreamHealth>, endpoint: number, times: number): void {
  for (let i = 0; i < times; i++) health.report(endpoint, 'failed')
}
