import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openByteBudget } from '../../platform/http/body/byte-budget.ts'
import { serveRuns } from './queue.ts'
import type { SocketRuns } from './run-on-socket.ts'

test('a message that comes after its connection has ended takes no room', () => {
  const left = new AbortController()
  const { signal } = left
  const connection = { request_id: 'req', signal, draining: signal, send: () => undefined, close() {} }
  const onMessage = serveRuns({ connection } as unknown as SocketRuns, 3600)
  left.abort()
  const budget = openByteBudget()
  const lease = budget.open('a')
  lease.add(100_000)
  onMessage(Buffer.alloc(100_000), lease)
  assert.equal(budget.held(), 0)
})
