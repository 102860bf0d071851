import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshCache } from './fresh-cache.ts'

type Gate = { open(value: string | null): void; load: () => Promise<string | null> }

function gate(): Gate {
  const { promise, resolve } = Promise.withResolvers<string | null>()
  return { open: resolve, load: () => promise }
}

function cache(entries_max = 10) {
  const time = { now: 0 }
  return { time, ...freshCache<string>({ ttl_ms: 5000, entries_max, now_ms: () => time.now }) }
}

const never = () => Promise.reject(new Error('this answer should have been kept'))
const answer = (value: string | null) => () => Promise.resolve(value)

test('a value is kept for its time to live and not a millisecond longer', async () => {
  const { find, time } = cache()
  assert.equal(await find('a', answer('one')), 'one')
  time.now = 4999
  assert.equal(await find('a', never), 'one')
  time.now = 5000
  assert.equal(await find('a', answer('two')), 'two')
})

test('the time to live counts from the start of the load, so a slow load does not extend it', async () => {
  const { find, time } = cache()
  const slow = gate()
  const first = find('a', slow.load)
  time.now = 4000
  slow.open('one')
  await first
  time.now = 5000
  assert.equal(await find('a', answer('two')), 'two')
})

test('a load under way when values are dropped is not kept, and later callers do not share it', async () => {
  const { find, drop } = cache()
  const slow = gate()
  const first = find('a', slow.load)
  drop(() => false)
  assert.equal(await find('a', answer('new')), 'new')
  slow.open('old')
  assert.equal(await first, 'old')
  assert.equal(await find('a', never), 'new')
})

test('callers that miss together share one load; load() starts one of its own', async () => {
  const { find, load } = cache()
  const slow = gate()
  const both = [find('a', slow.load), find('a', never)]
  slow.open('one')
  assert.deepEqual(await Promise.all(both), ['one', 'one'])
  assert.equal(await load('a', answer('two')), 'two')
  assert.equal(await find('a', never), 'two')
})

test('a caller does not share a load that began a whole time to live ago', async () => {
  const { find, time } = cache()
  const slow = gate()
  const first = find('a', slow.load)
  time.now = 4999
  const second = find('a', never)
  time.now = 5000
  assert.equal(await find('a', answer('fresh')), 'fresh')
  slow.open('old')
  assert.deepEqual([await first, await second], ['old', 'old'])
  assert.equal(await find('a', never), 'fresh')
})

test('a value kept or forgotten during a load is not replaced by what that load read', async () => {
  const { find, load, keep, forget, recall } = cache()
  const slow = [gate(), gate()]
  const first = load('a', slow[0]!.load)
  keep('a', 'new')
  slow[0]!.open('old')
  assert.equal(await first, 'old')
  assert.equal(await find('a', never), 'new')
  const second = load('a', slow[1]!.load)
  forget('a')
  slow[1]!.open('old')
  assert.equal(await second, 'old')
  assert.equal(recall('a'), null)
})

test('a clock that goes back expires every value', async () => {
  const { find, time } = cache()
  time.now = 1000
  await find('a', answer('one'))
  time.now = 999
  assert.equal(await find('a', answer('two')), 'two')
})

test('drop forgets what matches and clear forgets all', async () => {
  const { find, drop, clear } = cache()
  await find('a', answer('one'))
  await find('b', answer('two'))
  drop((value) => value === 'one')
  assert.equal(await find('a', answer('new')), 'new')
  assert.equal(await find('b', never), 'two')
  clear()
  assert.equal(await find('b', answer('newer')), 'newer')
})

test('null is not kept, nor an error', async () => {
  const { find } = cache()
  assert.equal(await find('a', answer(null)), null)
  await assert.rejects(
    find('a', () => Promise.reject(new Error('down'))),
    /down/,
  )
  assert.equal(await find('a', answer('one')), 'one')
})

test('the oldest value makes room when the cache is full', async () => {
  const { find } = cache(2)
  for (const key of ['a', 'b', 'c']) await find(key, answer(key))
  assert.equal(await find('c', never), 'c')
  assert.equal(await find('b', never), 'b')
  assert.equal(await find('a', answer('again')), 'again')
})
