import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { WebSocketServer } from 'ws'
import { type Lease, openByteBudget } from '../../server/platform/http/body/byte-budget.ts'
import { deliverMessages } from '../../server/platform/http/body/messages.ts'
import { rawConnection } from '../support/http/raw-http.ts'
import { frame, handshakeText } from '../support/http/socket/client.ts'

test('messages of one chunk are delivered in the order in which they came, whichever finds room first', async () => {
  const total = 1_000_000
  const budget = openByteBudget({ total, owner: total, wait_seconds: 600 })
  const others = budget.open('others')
  others.add(total)
  let waiting = 0
  const open = (): Lease => {
    const lease = budget.open('a')
    const add = (bytes: number) => {
      const room = lease.add(bytes)
      if (room) waiting += 1
      return room
    }
    return { ...lease, add }
  }
  const received: string[] = []
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  server.on('connection', (ws, { socket }) => {
    deliverMessages(ws, socket, open, (text) => void received.push(String(text)[0]!))
  })
  await once(server, 'listening')
  const client = await rawConnection(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  await client.write(handshakeText())
  await client.answer()
  await client.write(Buffer.concat([frame(0x81, 'a'.repeat(40_000)), frame(0x81, 'b'.repeat(20_000))]))
  while (waiting < 2) await nextTurn()
  // Room for the second message alone, then for both.
  others.giveBack(25_000)
  while (budget.held('a') === 0) await nextTurn()
  await nextTurn()
  others.end()
  while (received.length < 2) await nextTurn()
  assert.deepEqual(received, ['a', 'b'])
  client.close()
  const closed = once(server, 'close')
  server.close()
  await closed
})
