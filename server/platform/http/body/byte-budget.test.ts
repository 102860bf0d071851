import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Lease, leaseUntilClosed, openByteBudget } from './byte-budget.ts'

const KIB = 1024
type Triple<T> = [T, T, T]
const open = (changes = {}) => openByteBudget({ total: 1000 * KIB, owner: 400 * KIB, wait_seconds: 600, ...changes })

/** Whether a promise has been settled by now. */
async function isWaiting(promise: Promise<void> | undefined): Promise<boolean> {
  let waiting = promise !== undefined
  promise?.then(
    () => {
      waiting = false
    },
    () => {
      waiting = false
    },
  )
  await nextTurn()
  return waiting
}

test('small requests are not counted, larger ones from their first byte on', () => {
  const budget = open()
  const lease = budget.open('a')
  assert.equal(lease.add(8 * KIB), undefined)
  assert.equal(budget.held(), 0)
  assert.equal(lease.add(1), undefined)
  assert.equal(budget.held('a'), 8 * KIB + 1)
  lease.end()
  lease.end()
  assert.deepEqual([budget.held(), budget.held('a')], [0, 0])
})

test('one request of an owner may exceed the share; others wait for it, and nobody else does', async () => {
  const budget = open()
  const [one, two, three, other] = [budget.open('a'), budget.open('a'), budget.open('a'), budget.open('b')]
  one.add(300 * KIB)
  assert.equal(two.add(150 * KIB), undefined)
  assert.equal(two.add(50 * KIB), undefined)
  const room = three.add(200 * KIB)
  const more = one.add(50 * KIB)
  assert.deepEqual(await Promise.all([room, more].map(isWaiting)), [true, true])
  assert.equal(other.add(400 * KIB), undefined)
  two.end()
  assert.deepEqual(await Promise.all([room, more].map(isWaiting)), [false, true])
  three.end()
  await more
  assert.equal(budget.held('a'), 350 * KIB)
})

test('all owners together never hold more than the total, and those that wait are served in order', async () => {
  const budget = open()
  const leases = ['a', 'b', 'c', 'd'].map((owner) => budget.open(owner))
  const rooms = leases.map((lease) => lease.add(400 * KIB))
  assert.deepEqual(await Promise.all(rooms.map(isWaiting)), [false, false, true, true])
  assert.equal(budget.held(), 800 * KIB)
  leases[0]!.end()
  assert.deepEqual(await Promise.all(rooms.slice(2).map(isWaiting)), [false, true])
  for (const lease of leases) lease.end()
  assert.equal(budget.held(), 0)
})

test('whoever finds no room in time learns whose room it is', async () => {
  const budget = open({ wait_seconds: 0.01 })
  const [one, two] = [budget.open('a'), budget.open('a')]
  one.add(401 * KIB)
  await assert.rejects(two.add(200 * KIB)!, { code: 'too_many_requests', retry_after_seconds: 5 })
  budget.open('b').add(400 * KIB)
  budget.open('c').add(150 * KIB)
  await assert.rejects(budget.open('d').add(100 * KIB)!, { code: 'server_is_overloaded' })
  const patient = budget.open('a', { patient: true })
  const room = patient.add(200 * KIB)
  one.end()
  await room
})

test('patient requests that each hold what the others wait for go on one at a time, whatever else is held', async () => {
  const budget = open()
  const [one, two, three] = ['a', 'b', 'c'].map((owner) => budget.open(owner, { patient: true })) as Triple<Lease>
  for (const lease of [one, two, three]) assert.equal(lease.add(300 * KIB), undefined)
  const other = budget.open('d')
  assert.equal(other.add(100 * KIB), undefined)
  const rooms = [one, two].map((lease) => lease.add(150 * KIB)!)
  assert.deepEqual(await Promise.all(rooms.map(isWaiting)), [true, true], 'the third may still end')
  rooms.push(three.add(200 * KIB)!)
  assert.deepEqual(await Promise.all(rooms.map(isWaiting)), [false, true, true])
  const more = one.add(300 * KIB)!
  await more
  assert.equal(budget.held('a'), 750 * KIB)
  one.end()
  assert.deepEqual(await Promise.all(rooms.map(isWaiting)), [false, false, true])
  two.end()
  await rooms[2]
  for (const lease of [three, other]) lease.end()
  assert.equal(budget.held(), 0)
})

test('a request that has given back what was beyond the share lets another one exceed it', async () => {
  const budget = open()
  const [one, two] = [budget.open('a'), budget.open('a')]
  assert.equal(one.add(500 * KIB), undefined)
  one.giveBack(500 * KIB)
  assert.equal(two.add(500 * KIB), undefined)
  for (const lease of [one, two]) lease.end()
  assert.equal(budget.held(), 0)
})

test('a patient request that is larger than everything together goes on, once', async () => {
  const budget = open()
  const leases = ['a', 'b'].map((owner) => budget.open(owner, { patient: true }))
  const rooms = leases.map((lease) => lease.add(1100 * KIB))
  assert.deepEqual(await Promise.all(rooms.map(isWaiting)), [false, true])
  leases[0]!.end()
  await rooms[1]
})

test('what a request gives back before its end is room for others, and is given back once', async () => {
  const budget = open()
  const [one, two] = [budget.open('a'), budget.open('a')]
  one.add(450 * KIB)
  const room = two.add(300 * KIB)!
  one.giveBack(40 * KIB)
  assert.equal(await isWaiting(room), true)
  one.giveBack(200 * KIB)
  await room
  assert.equal(budget.held('a'), 510 * KIB)
  one.end()
  assert.equal(budget.held('a'), 300 * KIB)
  two.giveBack(500 * KIB)
  two.end()
  assert.equal(budget.held(), 0)
})

test('a request that waits twice holds nothing once it has ended', async () => {
  const budget = open()
  const [one, two] = [budget.open('a'), budget.open('a')]
  one.add(401 * KIB)
  const rooms = [two.add(100 * KIB)!, two.add(150 * KIB)!]
  two.end()
  for (const room of rooms) await assert.rejects(room)
  one.end()
  assert.equal(budget.held(), 0)
})

test('a request that ends while it waits stops waiting and holds nothing', async () => {
  const budget = open()
  const [one, two] = [budget.open('a'), budget.open('a')]
  one.add(401 * KIB)
  const room = two.add(200 * KIB)
  two.end()
  await assert.rejects(room!)
  one.end()
  assert.equal(budget.held(), 0)
  assert.equal(two.add(500 * KIB), undefined)
  assert.equal(budget.held(), 0)
})

test('a lease of an answer whose client is gone, before or after it was opened, holds nothing', async () => {
  const budget = open()
  const [early, late] = [new PassThrough(), new PassThrough()] as unknown as [ServerResponse, ServerResponse]
  early.destroy()
  const leases = [early, late].map((raw) => leaseUntilClosed(budget, 'a', { raw }))
  for (const lease of leases) lease.add(100 * KIB)
  assert.equal(budget.held('a'), 100 * KIB)
  late.destroy()
  await once(late, 'close')
  assert.equal(budget.held('a'), 0)
})
