import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openByteBudget } from '../../server/platform/http/body/byte-budget.ts'
import { openSocket } from '../support/http/socket/client.ts'
import { releases, startEcho, stopEchoes } from './websocket-echo.ts'

after(stopEchoes)

/** A service of its own, and a message of one owner of 1.1 MB that is kept until `release`. */
async function startFull(wait_seconds: number) {
  const budget = openByteBudget({ total: 10_000_000, owner: 1_000_000, wait_seconds })
  const own = await startEcho({ budget })
  const open = (owner: string) => openSocket(own.url, { path: '/echo', headers: { owner } })
  const one = await open('a')
  one.send({ keep: 'x'.repeat(1_100_000) })
  await one.next()
  assert.ok(budget.held('a') >= 1_100_000)
  return { budget, own, open, one, release: releases.pop()! }
}

test('a message is read as far as its owner has room for it, and goes on when there is more', async () => {
  const { own, open, one, release } = await startFull(600)
  const [two, other] = [await open('a'), await open('b')]
  two.send({ text: 'x'.repeat(300_000) })
  other.send({ text: 'x'.repeat(900_000) })
  await other.next()
  release()
  assert.equal((await two.next()).text.length, 300_000)
  await Promise.all([one, two, other].map((each) => each.close()))
  while (own.sockets.count() > 0) await nextTurn()
})

test('1013 ends the connection of a message that finds no room in time', async () => {
  const { budget, own, open, one, release } = await startFull(0.05)
  const two = await open('a')
  two.send({ text: 'x'.repeat(300_000) })
  assert.deepEqual(await two.closed, { code: 1013, reason: 'too many bytes at once' })
  release()
  while (budget.held('a') > 0) await nextTurn()
  const full = budget.open('a')
  full.add(1_100_000)
  const three = await open('a')
  // Complete with the bytes that find no room.
  three.send({ text: 'x'.repeat(132_000) })
  await assert.rejects(three.next(), /1013/)
  const idle = await open('a')
  for (let n = 0; n < 1000; n++) idle.ws.pong('x'.repeat(125))
  idle.send('"pongs are no message"')
  await idle.next()
  full.end()
  await Promise.all([one, idle].map((each) => each.close()))
  while (own.sockets.count() > 0) await nextTurn()
  assert.equal(budget.held(), 0)
})
