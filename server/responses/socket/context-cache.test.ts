import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextBytes, openContextCaches } from './context-cache.ts'

const ME = 'org/me'
const response = (response_id: string, bytes = 10, owner = ME) => ({ response_id, owner, bytes, context: [] })

test('the latest response of each stream is cached, only for its owner', () => {
  const cache = openContextCaches()()
  cache.set(undefined, response('a'))
  cache.set('x', response('b'))
  cache.set('x', response('c'))
  assert.deepEqual(cache.get('a', ME)?.context, [])
  assert.equal(cache.get('b', ME), null)
  assert.deepEqual(cache.get('c', ME)?.context, [])
  assert.equal(cache.get('c', 'org/other'), null)
  cache.delete('a')
  assert.equal(cache.get('a', ME), null)
  cache.clear()
  assert.equal(cache.get('c', ME), null)
})

test('connections share one size limit: beyond it the oldest entry is dropped, and a larger one is not cached', () => {
  const open = openContextCaches({ bytes_max: 100, organization_bytes_max: 100 })
  const [one, two] = [open(), open()]
  one.set(undefined, response('a', 60))
  two.set(undefined, response('b', 40))
  assert.equal(one.bytesOf('a'), 60)
  two.set(undefined, response('c', 50))
  assert.deepEqual([one.bytesOf('a'), two.bytesOf('b'), two.bytesOf('c')], [0, 0, 50])
  one.set(undefined, response('d', 50))
  assert.deepEqual([one.bytesOf('d'), two.bytesOf('c')], [50, 50])
  one.set(undefined, response('e', 101))
  assert.deepEqual([one.bytesOf('d'), one.bytesOf('e'), two.bytesOf('c')], [0, 0, 50])
  two.clear()
  one.set(undefined, response('f', 100))
  assert.equal(one.bytesOf('f'), 100)
})

test('an organization beyond its share drops its own oldest entries, and nobody else loses any', () => {
  const open = openContextCaches({ bytes_max: 100, organization_bytes_max: 50 })
  const [one, two] = [open(), open()]
  one.set(undefined, response('a', 20, 'org_1/me'))
  for (const [i, person] of ['x', 'y', 'z', 'x'].entries()) two.set(`${i}`, response(`b${i}`, 20, `org_2/${person}`))
  assert.equal(one.bytesOf('a'), 20)
  assert.deepEqual(
    [0, 1, 2, 3].map((i) => two.bytesOf(`b${i}`)),
    [0, 0, 20, 20],
  )
})

test('a connection caches its 16 latest streams', () => {
  const cache = openContextCaches()()
  for (let i = 0; i < 20; i++) cache.set(`${i}`, response(`r${i}`))
  assert.deepEqual([cache.bytesOf('r3'), cache.bytesOf('r4'), cache.bytesOf('r19')], [0, 10, 10])
})

test('many small items count several times their text, a long text no more than itself', async () => {
  const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))
  const item = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }) as const
  const small = Array.from({ length: 2000 }, () => item('x')) as never
  const long = [item('x'.repeat(1_000_000))] as never
  assert.ok((await contextBytes(small)) > 5 * bytesOf(small))
  assert.ok((await contextBytes(long)) < 1.01 * bytesOf(long))
})
