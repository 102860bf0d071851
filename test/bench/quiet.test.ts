import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foreignOf, parseCpuTimes, reasonsOf, sharesOf } from '../../bench/support/quiet.ts'

const STAT = 'cpu  100 20 30 400 50 6 14 8 5 1\ncpu0 1 2 3 4 5 6 7 8 9 10\n'

test('the first line of /proc/stat is summed by kind, with waiting for a disk as idle and guest time not counted twice', () => {
  assert.deepEqual(parseCpuTimes(STAT), { processes: 150, interrupts: 20, idle: 450, steal: 8 })
  assert.deepEqual(parseCpuTimes('cpu 1 2 3 4 5 6 7'), { processes: 6, interrupts: 13, idle: 9, steal: 0 })
})

test('shares are of the time of all cores between two readings', () => {
  const before = { processes: 100, interrupts: 10, idle: 1000, steal: 5 }
  const after = { processes: 130, interrupts: 20, idle: 1150, steal: 15 }
  assert.deepEqual(sharesOf(before, after), { busy_share: 40 / 200, steal_share: 10 / 200 })
  assert.deepEqual(sharesOf(before, before), { busy_share: 0, steal_share: 0 })
})

test('time of our own processes and of interrupts is not foreign', () => {
  const before = { processes: 0, interrupts: 0, idle: 0, steal: 0 }
  const after = { processes: 120, interrupts: 30, idle: 46, steal: 4 }
  assert.deepEqual(foreignOf({ before, after, own: 100 }), { foreign_share: 0.1, steal_share: 0.02 })
  // Readings are not of the same moment.
  assert.equal(foreignOf({ before, after, own: 121 }).foreign_share, 0)
})

test('each limit that is exceeded is a reason not to believe a figure, and none at the limit', () => {
  assert.deepEqual(reasonsOf({ load_1m: 1, busy_share: 0.1, steal_share: 0.02 }), [])
  assert.deepEqual(reasonsOf({ foreign_share: 0.1, steal_share: 0 }), [])
  assert.deepEqual(reasonsOf({ load_1m: 1.26, busy_share: 0.5, steal_share: 0.03 }), [
    'load average 1.3, over 1',
    'cores busy 50 %, over 10 %',
    'steal 3 %, over 2 %',
  ])
  assert.deepEqual(reasonsOf({ foreign_share: 0.25, steal_share: 0 }), ['other processes 25 %, over 10 %'])
})
