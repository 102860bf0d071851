import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { setImmediate as settled } from 'node:timers/promises'
import {
  CHILDREN_DEFAULT,
  type ChildKind,
  enterChild,
  limitChildren,
  WAITING_MAX,
  WAITING_OF_ONE_MAX,
} from './concurrency-limit.ts'

afterEach(() => limitChildren(CHILDREN_DEFAULT))

/** Asks for a slot and records when it is given. */
function ask(kind: ChildKind, started: string[], name: string = kind, owner?: string): Promise<() => void> {
  return enterChild(kind, { owner }).then((leave) => {
    started.push(name)
    return leave
  })
}

test('long work never takes the last slot, so that short work starts at once however many renders wait', async () => {
  limitChildren(3)
  const started: string[] = []
  const renders = Array.from({ length: 5 }, () => ask('render', started))
  const repair = ask('repair', started)
  ;(await renders[0]!)()
  const leave = await ask('moderation', started)
  assert.deepEqual(started, ['render', 'render', 'repair', 'moderation'])
  leave()
  for (const each of [...renders.slice(1), repair]) (await each)()
})

test('a hundred documents do not delay one moderation, and moderations are served in order', async () => {
  limitChildren(2)
  const started: string[] = []
  const leaves = [await ask('document', started), await ask('document', started)]
  const documents = Array.from({ length: WAITING_MAX }, () => ask('document', started))
  const first = ask('moderation', started, 'first')
  const second = ask('moderation', started, 'second')
  leaves[0]!()
  leaves[1]!()
  ;(await first)()
  ;(await second)()
  assert.ok(started.indexOf('first') <= 3 && started.indexOf('second') <= 5, started.join())
  assert.ok(started.indexOf('first') < started.indexOf('second'))
  for (const each of documents) (await each)()
})

test('a full queue refuses at once, and an aborted wait frees its place', async () => {
  limitChildren(2)
  const leaves = [await enterChild('document'), await enterChild('document')]
  const left = new AbortController()
  const waiting = Array.from({ length: WAITING_MAX }, () => enterChild('document', { signal: left.signal }))
  await assert.rejects(enterChild('document'), { name: 'ChildrenBusy', limit: 'process' })
  const other = enterChild('moderation')
  left.abort(new Error('left'))
  for (const each of waiting) await assert.rejects(each, { message: 'left' })
  const next = enterChild('document')
  for (const leave of leaves) leave()
  ;(await other)()
  ;(await next)()
})

test("one owner's documents delay another's by one, and leave half of the places to others", async () => {
  limitChildren(2)
  const started: string[] = []
  const leaves = [await ask('document', started), await ask('document', started)]
  const many = Array.from({ length: WAITING_OF_ONE_MAX }, () => ask('document', started, 'many', 'many'))
  await assert.rejects(ask('document', started, 'many', 'many'), { name: 'ChildrenBusy', limit: 'owner' })
  const one = ask('document', started, 'one', 'one')
  for (const leave of leaves) leave()
  ;(await one)()
  assert.deepEqual(started.slice(2), ['many', 'one'])
  for (const each of many) (await each)()
})

test('thumbnails delay a render of another organization by one, and a render leaves a slot for them', async () => {
  limitChildren(2)
  const started: string[] = []
  const leaves = [await ask('variant', started, 'many', 'many'), await ask('variant', started, 'many', 'many')]
  const many = Array.from({ length: WAITING_OF_ONE_MAX }, () => ask('variant', started, 'many', 'many'))
  await assert.rejects(ask('variant', started, 'many', 'many'), { name: 'ChildrenBusy', limit: 'owner' })
  const render = ask('render', started, 'render', 'one')
  leaves[0]!()
  const leaveRender = await render
  assert.equal(started.indexOf('render'), 2)
  leaves[1]!()
  for (const each of many) (await each)()
  leaveRender()
})

test("another organization's work starts while one has all slots, and they take turns beyond that", async () => {
  limitChildren(2)
  const started: string[] = []
  const leaves = [await ask('document', started, 'many', 'many'), await ask('moderation', started, 'many', 'many')]
  const many = Array.from({ length: 4 }, () => ask('document', started, 'many', 'many'))
  const leaveFirst = await ask('moderation', started, 'first', 'one')
  assert.deepEqual(started, ['many', 'many', 'first'], 'nothing had ended')
  const second = ask('moderation', started, 'second', 'one')
  const other = ask('document', started, 'other', 'two')
  leaves[0]!()
  await settled()
  assert.equal(started.length, 3, 'the limit is exceeded by one, and for an organization that runs nothing')
  leaveFirst()
  await settled()
  assert.deepEqual(started.slice(3), ['many', 'second'])
  leaves[1]!()
  for (const each of [second, other, ...many]) void each.then((leave) => leave())
  await Promise.all([second, other, ...many])
  assert.equal(started[5], 'other')
})
