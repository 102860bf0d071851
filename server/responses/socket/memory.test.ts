import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSocketMemories } from './memory.ts'

const ME = 'org/me'
const response = (response_id: string, bytes = 10, owner = ME) => ({ response_id, owner, bytes, context: [] })

test('the latest response of each stream is remembered, for its owner alone', () => {
  const memory = openSocketMemories()()
  memory.remember(undefined, response('a'))
  memory.remember('x', response('b'))
  memory.remember('x', response('c'))
  assert.deepEqual(memory.recall('a', ME), [])
  assert.equal(memory.recall('b', ME), null)
  assert.deepEqual(memory.recall('c', ME), [])
  assert.equal(memory.recall('c', 'org/other'), null)
  memory.forget('a')
  assert.equal(memory.recall('a', ME), null)
  memory.clear()
  assert.equal(memory.recall('c', ME), null)
})

test('connections share one allowance, beyond which the oldest is forgotten, and nothing is larger than all of it', () => {
  const open = openSocketMemories({ bytes_max: 100 })
  const [one, two] = [open(), open()]
  one.remember(undefined, response('a', 60))
  two.remember(undefined, response('b', 40))
  assert.equal(one.bytesOf('a'), 60)
  two.remember(undefined, response('c', 50))
  assert.deepEqual([one.bytesOf('a'), two.bytesOf('b'), two.bytesOf('c')], [0, 0, 50])
  one.remember(undefined, response('d', 50))
  assert.deepEqual([one.bytesOf('d'), two.bytesOf('c')], [50, 50])
  one.remember(undefined, response('e', 101))
  assert.deepEqual([one.bytesOf('d'), one.bytesOf('e'), two.bytesOf('c')], [0, 0, 50])
  two.clear()
  one.remember(undefined, response('f', 100))
  assert.equal(one.bytesOf('f'), 100)
})

test('a connection remembers 16 streams, the latest ones', () => {
  const memory = openSocketMemories()()
  for (let i = 0; i < 20; i++) memory.remember(`${i}`, response(`r${i}`))
  assert.deepEqual([memory.bytesOf('r3'), memory.bytesOf('r4'), memory.bytesOf('r19')], [0, 10, 10])
})
