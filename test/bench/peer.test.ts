import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPeer } from '../../bench/yardsticks/peers/peer.ts'
import { startFastUpstream } from '../support/upstream/chat-upstream-fast.ts'

const forward = (port: number, upstream: string) => `
  require('node:http').createServer(async (request, response) => {
    const answer = await fetch('${upstream}/chat/completions', { method: 'POST', body: '{}' })
    response.end(await answer.text())
  }).listen(${port}, '127.0.0.1')`

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
