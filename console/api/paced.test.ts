import assert from 'node:assert/strict'
import { test } from 'node:test'
import { paced } from './paced.ts'

test('work is done at once, then once in its pace however often it is asked for, and the last request is not lost', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let done = 0
  const work = paced(() => (done += 1), 250)
  work.ask()
  assert.equal(done, 1)
  for (let n = 0; n < 100; n += 1) work.ask()
  t.mock.timers.tick(249)
  assert.equal(done, 1)
  t.mock.timers.tick(1)
  assert.equal(done, 2)
  t.mock.timers.tick(1000)
  assert.equal(done, 2)
  work.ask()
  assert.equal(done, 3)
})

test('what was asked for before it was stopped is not done', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let done = 0
  const work = paced(() => (done += 1), 250)
  work.ask()
  work.ask()
  work.stop()
  t.mock.timers.tick(1000)
  assert.equal(done, 1)
})
