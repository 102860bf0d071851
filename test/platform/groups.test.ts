import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDatabaseDown } from '../../server/platform/db/db.ts'
import { openGroups, writeGroupOrEach } from '../../server/platform/db/groups.ts'
import { takingTurnsAs } from '../../server/platform/turns.ts'

test('items that arrive while a group is written are written together next, in order, one group of a name at a time', async () => {
  const groups = openGroups()
  const written: number[][] = []
  const gate = Promise.withResolvers<void>()
  const write = async (items: readonly number[]) => {
    written.push([...items])
    if (written.length === 1) await gate.promise
    return items.map((item) => item * 10)
  }
  const first = groups.join('a', 1, write)
  await new Promise(setImmediate)
  const rest = [2, 3, 4].map((item) => groups.join('a', item, write))
  const other = await groups.join('b', 9, write)
  gate.resolve()
  assert.deepEqual([await first, ...(await Promise.all(rest)), other], [10, 20, 30, 40, 90])
  assert.deepEqual(written, [[1], [9], [2, 3, 4]])
})

test('where several owners wait, each has 8 items in a group, in its order; alone, an owner has all', async () => {
  const groups = openGroups()
  const written: string[][] = []
  const write = async (items: readonly string[]) => {
    written.push([...items])
    return items
  }
  const join = (owner: string, count: number) =>
    takingTurnsAs(owner, () => Array.from({ length: count }, (_, i) => groups.join('a', `${owner}${i}`, write)))
  await Promise.all([...join('a', 20), ...join('b', 1)])
  const named = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `a${from + i}`)
  assert.deepEqual(written, [[...named(0, 8), 'b0'], named(8, 20)])
})

test('an Error in place of a result rejects that item alone; what is thrown rejects the group, and the next goes on', async () => {
  const groups = openGroups()
  const write = async (items: readonly string[]) => {
    if (items.includes('outage')) throw new Error('down')
    return items.map((item) => (item === 'bad' ? new Error('bad') : item))
  }
  const join = (item: string) => groups.join('x', item, write)
  const settled = await Promise.allSettled([join('good'), join('bad')])
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  )
  await assert.rejects(Promise.all([join('good'), join('outage')]), /down/)
  assert.equal(await join('good'), 'good')
})

test('a write that is never answered fails its own group, as an outage, and the next goes on', async () => {
  const groups = openGroups({ answer_seconds: 0.05 })
  const lost = groups.join('a', 1, () => new Promise<never>(() => {}))
  const next = groups.join('b', 2, async (items) => items)
  await assert.rejects(lost, isDatabaseDown)
  assert.equal(await next, 2)
  assert.equal(await groups.join('a', 3, async (items) => items), 3)
})

test('a group that fails together is written one by one, in order: only the item at fault is an Error', async () => {
  const written: number[][] = []
  const write = async (items: readonly number[]) => {
    if (items.includes(2)) throw new Error('bad')
    written.push([...items])
    return items.map((item) => item * 10)
  }
  const results = await writeGroupOrEach([1, 2, 3], write)
  assert.deepEqual([results[0], (results[1] as Error).message, results[2]], [10, 'bad', 30])
  assert.deepEqual(written, [[1], [3]])
  assert.deepEqual(await writeGroupOrEach([4, 5], write), [40, 50])
  assert.deepEqual(written.at(-1), [4, 5])
  await assert.rejects(writeGroupOrEach([2], write), /bad/)
})

test('a group whose commit was not answered is not written again', async () => {
  const lost = Object.assign(new Error('connection lost'), { code: '08006' })
  assert.ok(isDatabaseDown(lost))
  let writes = 0
  const write = async (): Promise<never[]> => {
    writes += 1
    throw lost
  }
  await assert.rejects(writeGroupOrEach([1, 2], write), lost)
  assert.equal(writes, 1)
})
