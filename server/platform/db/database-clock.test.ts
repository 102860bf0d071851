import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followDatabaseClock } from './database-clock.ts'

/** A database whose clock is `ahead` of the process's, over a network with these delays in milliseconds. */
async function follow() {
  const world = { time: 1000, ahead: 50_000, there: 2, back: 2 }
  const steps: number[] = []
  const clock = await followDatabaseClock({
    monotonic_ms: () => world.time,
    on_step: (milliseconds) => steps.push(milliseconds),
    async ask() {
      world.time += world.there
      const answer = world.time + world.ahead
      world.time += world.back
      return answer
    },
  })
  const read = () => clock.now().getTime()
  return { world, steps, clock, read, error: () => read() - (world.time + world.ahead) }
}

test('a reading differs from the database by at most half the round trip, however unequal the two ways are', async () => {
  const { world, clock, error } = await follow()
  assert.equal(error(), 0)
  world.there = 30
  world.back = 0
  world.ahead += 500
  await clock.measure()
  world.time += 60_000
  assert.equal(clock.error_ms(), 15)
  assert.ok(Math.abs(error()) <= 15, `${error()} ms`)
  clock.close()
})

test('a small difference is made up for gradually and time never goes back; a large one is a step that is reported', async () => {
  const { world, steps, clock, read, error } = await follow()
  world.ahead -= 500
  await clock.measure()
  const readings = Array.from({ length: 600 }, () => {
    world.time += 10
    return read()
  })
  assert.ok(readings.every((reading, i) => i === 0 || reading >= readings[i - 1]!))
  assert.equal(error(), 0)
  assert.deepEqual(steps, [])
  world.ahead -= 60_000
  await clock.measure()
  assert.equal(error(), 0)
  assert.deepEqual(steps, [-60_000])
  clock.close()
})

test('a measurement by a busy process, which allows the present reading, changes nothing', async () => {
  const { world, clock, error } = await follow()
  world.back = 3000
  await clock.measure()
  world.time += 60_000
  assert.deepEqual([error(), clock.error_ms()], [0, 2])
  clock.close()
})
