import assert from 'node:assert/strict'
import { test } from 'node:test'
import { instantVideo } from './instant.ts'
import { enginePool, type PoolMember, poolCapabilities, soleEngine } from './pool.ts'

const any = (_: PoolMember) => true
const none: ReadonlySet<PoolMember> = new Set()

/** A pool with a time and a chance moved by hand. */
function poolOf(weights: Record<string, number>) {
  const chance = { at: 0, number: 0 }
  const engine = instantVideo({ kind: 'instant' })
  const members = Object.entries(weights).map(
    ([id, weight]): PoolMember => ({ engine, model: 'm', name: 'instant', id, weight, renders_max: null }),
  )
  const pool = enginePool(members, { random: () => chance.number, now: () => chance.at })
  return { chance, pool, picked: (can = any, tried = none) => pool.pick(can, tried)?.id ?? null, members }
}

test('renders are shared by weight', () => {
  const { chance, picked } = poolOf({ own: 3, rented: 1 })
  const chosen = Array.from({ length: 8 }, (_, i) => {
    chance.number = i / 8
    return picked()
  })
  assert.deepEqual(chosen, ['own', 'own', 'own', 'own', 'own', 'own', 'rented', 'rented'])
})

test('an engine that cannot take the render, or was tried, is not picked; null when none is left', () => {
  const { picked, members } = poolOf({ own: 3, rented: 1 })
  assert.equal(
    picked(({ id }) => id === 'rented'),
    'rented',
  )
  assert.equal(picked(any, new Set([members[0]!])), 'rented')
  assert.equal(picked(any, new Set(members)), null)
  assert.equal(
    picked(() => false),
    null,
  )
})

test('an engine whose starts fail is left out for a while, one that refuses at once, and each comes back', () => {
  const { chance, picked, pool, members } = poolOf({ own: 1, rented: 1 })
  const [own] = members
  for (let i = 0; i < 3; i++) {
    assert.equal(picked(), 'own')
    pool.report(own!, 'failed')
  }
  assert.equal(picked(), 'rented')
  chance.at += 5_000
  assert.equal(picked(), 'own', 'one start to see whether it works again')
  pool.report(own!, 'worked')
  pool.report(own!, 'refused')
  assert.equal(picked(), 'rented')
  chance.at += 60_000
  assert.equal(picked(), 'own')
  pool.report(own!, 'worked')
  pool.pause(own!, 30)
  assert.equal(picked(), 'rented')
})

test('when every engine is left out the one whose pause ends first is picked: trying is better than refusing', () => {
  const { picked, pool, members } = poolOf({ own: 1, rented: 1 })
  pool.pause(members[0]!, 30)
  pool.pause(members[1]!, 20)
  assert.equal(picked(), 'rented')
})

test('a render is followed by the engine it was begun on; one without a name by the first, and nobody when it is gone', () => {
  const { pool } = poolOf({ own: 1, rented: 1 })
  assert.equal(pool.member('rented')?.id, 'rented')
  assert.equal(pool.member(null)?.id, 'own')
  assert.equal(pool.member('sold'), null)
})

test('a model can do what one of its engines can, and promises the least about canceling', () => {
  const { members } = poolOf({ own: 1, rented: 1 })
  const can = members[0]!.engine.capabilities('m')
  const frames = { ...can, modes: new Set(['text', 'first_frame'] as const), seconds: [4, 8] as const }
  const clips = { ...can, seconds: [5, 15] as const, cancel: 'queued' as const }
  const withCapabilities = (capabilities: typeof can) => ({
    ...members[0]!,
    engine: { ...members[0]!.engine, capabilities: () => capabilities },
  })
  const both = poolCapabilities({ members: [withCapabilities(frames), withCapabilities(clips)] })
  assert.deepEqual([both.seconds, both.cancel, both.modes], [[4, 15], 'queued', can.modes])
  const sole = soleEngine({ engine: members[0]!.engine, model: 'm', name: 'instant' })
  assert.deepEqual(poolCapabilities(sole), can)
})
