import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFairQueue, openShares } from './fair-queue.ts'

function queueOf(...added: Array<[owner: string, item: number]>) {
  const queue = openFairQueue<number>()
  for (const [owner, item] of added) queue.add(owner, item)
  return queue
}

function takeAll(queue: ReturnType<typeof queueOf>): number[] {
  const taken: number[] = []
  for (let next = queue.take(); next; next = queue.take()) taken.push(next.item)
  return taken
}

test('owners take turns and each is served in its own order, however much one of them added first', () => {
  const queue = queueOf(['a', 1], ['a', 2], ['a', 3], ['b', 10], ['b', 11], ['c', 20])
  assert.deepEqual(takeAll(queue), [1, 10, 20, 2, 11, 3])
})

test('an owner who was just served and adds more comes after all who wait', () => {
  const queue = queueOf(['a', 1], ['b', 10], ['c', 20])
  assert.equal(queue.take()?.item, 1)
  queue.add('a', 2)
  assert.deepEqual(takeAll(queue), [10, 20, 2])
})

test('an owner who is not accepted keeps the turn', () => {
  const queue = queueOf(['a', 1], ['b', 10], ['b', 11])
  assert.deepEqual(
    queue.take((owner) => owner !== 'a'),
    { owner: 'b', item: 10 },
  )
  assert.deepEqual(queue.take(), { owner: 'a', item: 1 })
  assert.equal(
    queue.take((owner) => owner === 'a'),
    undefined,
  )
})

test('what is removed is not taken, and sizes follow', () => {
  const queue = queueOf(['a', 1], ['a', 2], ['b', 10])
  assert.equal(queue.remove('b', 10), true)
  assert.equal(queue.remove('b', 10), false)
  assert.equal(queue.remove('a', 10), false)
  assert.deepEqual([queue.size(), queue.size('a'), queue.size('b')], [2, 2, 0])
  assert.deepEqual(takeAll(queue), [1, 2])
  assert.equal(queue.size(), 0)
})

test('of each owner one piece of work runs at a time, of all at most two, and what nobody wants never begins', async () => {
  const run = openShares({ each: 1, all: 2 })
  const begun: string[] = []
  const ends: Array<() => void> = []
  const work = (owner: string, signal?: AbortSignal) =>
    run(
      owner,
      () =>
        new Promise<void>((resolve) => {
          begun.push(owner)
          ends.push(resolve)
        }),
      signal,
    )
  const gone = new AbortController()
  const all = [work('a'), work('a'), work('b'), work('c')]
  const refused = assert.rejects(work('a', gone.signal), /gone/)
  gone.abort(new Error('gone'))
  await refused
  assert.deepEqual(begun, ['a', 'b'])
  ends[1]!()
  await all[2]
  await new Promise(setImmediate)
  assert.deepEqual(begun, ['a', 'b', 'c'])
  ends[0]!()
  await all[0]
  await new Promise(setImmediate)
  assert.deepEqual(begun, ['a', 'b', 'c', 'a'])
  for (const end of ends.slice(2)) end()
  await Promise.all(all)
})
