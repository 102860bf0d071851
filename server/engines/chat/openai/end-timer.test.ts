import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endTimer } from './end-timer.ts'
import type { Missing } from './read/completion.ts'

/** Its time passes by `tick` alone. */
function timerOf(t: { mock: typeof import('node:test').mock }) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const state = { missing: 'answer' as Missing, ended: 0, paused: false }
  const timer = endTimer(
    { missing: () => state.missing },
    {
      onSilence: () => {
        state.ended += 1
      },
      isPaused: () => state.paused,
    },
  )
  return { timer, state, tick: (ms: number) => t.mock.timers.tick(ms) }
}

test('an answer with its reason and usage ends within two seconds of silence, and text that comes before that is waited for again', (t) => {
  const { timer, state, tick } = timerOf(t)
  state.missing = 'nothing'
  assert.equal(timer.heard(true), true, 'announced once')
  tick(1400)
  assert.equal(timer.heard(true), false)
  tick(1400)
  assert.equal(state.ended, 0)
  tick(600)
  assert.equal(state.ended, 1)
})

test('usage that is missing is waited for longer, and an answer without a reason has no end of its own', (t) => {
  const { timer, state, tick } = timerOf(t)
  state.missing = 'usage'
  timer.heard(true)
  tick(4900)
  state.missing = 'reason'
  timer.heard(true)
  tick(60_000)
  assert.equal(state.ended, 0)
})

test('an error in place of the rest ends the answer as soon, and is not announced', (t) => {
  const { timer, state, tick } = timerOf(t)
  state.missing = 'refused'
  assert.equal(timer.heard(true), false)
  tick(1500)
  assert.equal(state.ended, 1)
})

test('silence does not count while what has come is still unread', (t) => {
  const { timer, state, tick } = timerOf(t)
  state.missing = 'nothing'
  state.paused = true
  timer.heard(true)
  tick(10_000)
  assert.equal(state.ended, 0)
  state.paused = false
  tick(1500)
  assert.equal(state.ended, 1)
  timer.close()
})
