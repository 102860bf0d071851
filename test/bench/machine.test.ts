import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startFastUpstream } from '../../bench/chat/fast-upstream.ts'
import { layoutOf, parseCores } from '../../bench/support/cores.ts'
import { foreignOf, parseCpuTimes, reasonsOf, sharesOf } from '../../bench/support/quiet.ts'
import { startPeer } from '../../bench/yardsticks/peers/peer.ts'

const STAT = 'cpu  100 20 30 400 50 6 14 8 5 1\ncpu0 1 2 3 4 5 6 7 8 9 10\n'

const forward = (port: number, upstream: string) => `
  require('node:http').createServer(async (request, response) => {
    const answer = await fetch('${upstream}/chat/completions', { method: 'POST', body: '{}' })
    response.end(await answer.text())
  }).listen(${port}, '127.0.0.1')`

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

test('a list of cores is read with its ranges', () => {
  assert.deepEqual(parseCores('0-2,5,8-9'), [0, 1, 2, 5, 8, 9])
  assert.deepEqual(parseCores('3'), [3])
})

test('subject and generator share no core, and every core has a side', () => {
  assert.deepEqual(layoutOf([0, 1], true), { subject: [0], generator: [1] })
  assert.deepEqual(layoutOf([2, 3, 6], true), { subject: [2], generator: [3, 6] })
  assert.deepEqual(layoutOf([0, 1, 2, 3], true), { subject: [0, 1], generator: [2, 3] })
})

test('nothing is pinned on one core or without taskset', () => {
  assert.equal(layoutOf([0], true), null)
  assert.equal(layoutOf([0, 1], false), null)
})

test('a peer counts when it answers what the model server says, and is gone when stopped', async () => {
  const upstream = await startFastUpstream()
  try {
    const peer = await startPeer(upstream, {
      name: 'forwarder',
      command: ({ port }) => ({ program: process.execPath, args: ['-e', forward(port, upstream.url)] }),
      headers: { authorization: 'Bearer k' },
    })
    assert.ok(!('missing' in peer))
    assert.deepEqual(peer.headers, { 'content-type': 'application/json', authorization: 'Bearer k' })
    await peer.stop()
    assert.throws(() => process.kill(peer.pid, 0), { code: 'ESRCH' })
  } finally {
    await upstream.close()
  }
})

test('a peer that ends before it answers is missing, with the reason', async () => {
  const upstream = await startFastUpstream()
  try {
    const command = () => ({ program: process.execPath, args: ['-e', 'process.exit(3)'] })
    assert.deepEqual(await startPeer(upstream, { name: 'broken', command }), {
      missing: 'broken gives no answer (ended with 3)',
    })
  } finally {
    await upstream.close()
  }
})
