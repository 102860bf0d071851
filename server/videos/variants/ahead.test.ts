import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import type { VideoJobRow } from '../store.ts'
import { openAhead } from './ahead.ts'

const jobOf = (org_id: string, id = '') => ({ id, org_id }) as VideoJobRow

/** Records the organization of each job made, and whether two were ever made at once. */
function start() {
  const made: string[] = []
  let active = 0
  const ahead = openAhead(
    async ({ org_id, id }) => {
      assert.equal(++active, 1, 'one at a time')
      await turn()
      active -= 1
      made.push(org_id)
      if (id === 'bad') throw new Error('cannot be made')
    },
    { pause_ms: 1 },
  )
  return { made, ahead }
}

test('organizations take turns, and a job that cannot be made does not stop the others', async () => {
  const { made, ahead } = start()
  for (const job of [jobOf('a', 'bad'), jobOf('a'), jobOf('a'), jobOf('b')]) ahead.add(job)
  while (made.length < 4) await pause(1)
  assert.deepEqual(made, ['a', 'b', 'a', 'a'])
  ahead.add(jobOf('c'))
  while (made.length < 5) await pause(1)
  await ahead.stop()
})

test('nothing is made while the event loop is busy', async () => {
  const { made, ahead } = start()
  const until = performance.now() + 200
  ahead.add(jobOf('a'))
  while (performance.now() < until) await turn()
  assert.deepEqual(made, [])
  while (made.length < 1) await pause(5)
  await ahead.stop()
})

test('at most 64 jobs wait, 32 of one organization, and none after a stop', async () => {
  const { made, ahead } = start()
  for (let i = 0; i < 100; i++) for (const org_id of ['a', 'b', 'c']) ahead.add(jobOf(org_id))
  while (made.length < 64) await pause(5)
  ahead.add(jobOf('d'))
  await ahead.stop()
  ahead.add(jobOf('e'))
  assert.equal(made.length, 64)
  const lone = start()
  for (let i = 0; i < 100; i++) lone.ahead.add(jobOf('a'))
  while (lone.made.length < 32) await pause(5)
  await lone.ahead.stop()
  assert.equal(lone.made.length, 32)
})
