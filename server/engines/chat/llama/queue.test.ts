import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openQueue } from './queue.ts'

const live = () => new AbortController().signal

test('requests go to work in the order in which they came, without those that left while they waited', async () => {
  const queue = openQueue(1, 10)
  const order: string[] = []
  const leave = await queue.enter(live())
  const leaving = new AbortController()
  const enter = (name: string, signal = live()) =>
    queue.enter(signal).then((next) => {
      order.push(name)
      next()
    })
  const waiting = [enter('a'), enter('b', leaving.signal), enter('c')]
  leaving.abort(new Error('left'))
  leave()
  leave()
  const outcomes = await Promise.allSettled(waiting)
  assert.deepEqual(order, ['a', 'c'])
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  await queue.enter(live())
  await assert.rejects(openQueue(0, 0).enter(live()), { kind: 'overloaded' })
})
