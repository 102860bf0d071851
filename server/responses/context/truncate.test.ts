import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { law } from '../../../test/support/law.ts'
import type { Item } from '../schema/items.ts'
import { matchOutputs } from './pairing.ts'
import { dropOldest, keepNewest } from './truncate.ts'

const head = { id: 'x', status: 'completed' } as const
const message = (role: 'user' | 'assistant' | 'system' | 'developer'): Item => ({
  ...head,
  type: 'message',
  role,
  content: [{ type: 'input_text', text: role }],
})
const call = (call_id: string): Item => ({ ...head, type: 'function_call', call_id, name: 'f', arguments: '{}' })
const output = (call_id: string): Item => ({ ...head, type: 'function_call_output', call_id, output: 'o' })
const reasoning: Item = { id: 'x', type: 'reasoning', summary: [] }
const summary: Item = { id: 'x', type: 'compaction', encrypted_content: 'AAAA' }

const [user, assistant, system, developer] = (['user', 'assistant', 'system', 'developer'] as const).map(message)

/** The indexes that are kept when `excess` tokens must be dropped, at one token per item. */
function keptIndexes(items: readonly Item[], excess: number): number[] {
  const kept = dropOldest(
    items,
    items.map(() => 1),
    excess,
  )
  return kept.flatMap((isKept, i) => (isKept ? [i] : []))
}

test('the oldest items are dropped, as few as needed', () => {
  const items = [user!, assistant!, user!, assistant!, user!]
  assert.deepEqual(keptIndexes(items, 0), [0, 1, 2, 3, 4])
  assert.deepEqual(keptIndexes(items, 1), [1, 2, 3, 4])
  assert.deepEqual(keptIndexes(items, 3), [3, 4])
  assert.deepEqual(keptIndexes(items, 4), [4])
  assert.deepEqual(keptIndexes(items, 5), [4])
})

test('a call is dropped with its output and the reasoning before it, even if other items are between them', () => {
  const items = [user!, reasoning, call('a'), call('b'), output('b'), output('a'), assistant!, user!]
  assert.deepEqual(keptIndexes(items, 2), [3, 4, 6, 7])
  assert.deepEqual(keptIndexes(items, 5), [6, 7])
})

test('instructions, summaries and everything from the last user message on are kept', () => {
  const items = [system!, summary, user!, developer!, assistant!, user!, call('a'), output('a'), reasoning, assistant!]
  assert.deepEqual(keptIndexes(items, 1), [0, 1, 3, 4, 5, 6, 7, 8, 9])
  assert.deepEqual(keptIndexes(items, 2), [0, 1, 3, 5, 6, 7, 8, 9])
  assert.deepEqual(keptIndexes(items, 3), [0, 1, 3, 5, 6, 7, 8, 9])
})

test('a call before the last user message is kept when its output is after it', () => {
  assert.deepEqual(keptIndexes([assistant!, reasoning, call('a'), user!, output('a')], 1), [1, 2, 3, 4])
  assert.deepEqual(keptIndexes([assistant!, reasoning, call('a'), user!, output('a')], 2), [1, 2, 3, 4])
})

test('without a user message the last item is kept, with the items that belong to it', () => {
  assert.deepEqual(keptIndexes([assistant!, call('a'), output('a')], 1), [1, 2])
  assert.deepEqual(keptIndexes([reasoning, assistant!], 1), [0, 1])
})

test('the time is linear for a hundred thousand items', () => {
  const items = Array.from({ length: 50_000 }, (_, i) => [call(`c${i % 7}`), output(`c${i % 7}`)]).flat()
  assert.equal(keptIndexes([...items, user!], 99_999)?.length, 1)
})

const some = fc.nat({ max: 3 }).map((n) => `call_${n}`)
const block = fc.oneof(
  fc.constantFrom([user!], [assistant!], [system!], [developer!], [summary], [reasoning], [reasoning, assistant!]),
  some.map((id) => [call(id), output(id)]),
  fc.tuple(some, some).map(([a, b]) => [reasoning, call(a), call(b), output(b), reasoning, output(a)]),
  fc.tuple(some, fc.constantFrom(user!, assistant!)).map(([id, between]) => [call(id), between, output(id)]),
)
const contexts = fc
  .tuple(fc.array(block, { minLength: 1, maxLength: 12 }), fc.array(fc.nat({ max: 50 })))
  .map(([blocks, weights]) => {
    const items = blocks.flat()
    return { items, costs: items.map((_, i) => weights[i % (weights.length || 1)] ?? 1) }
  })

law('no pair is split, nothing required is dropped, and no more is dropped than needed', (seed) => {
  const property = fc.property(contexts, fc.nat({ max: 300 }), ({ items, costs }, excess) => {
    const kept = dropOldest(items, costs, excess)
    assert.deepEqual(kept, dropPlainly(items, costs, excess))
    for (const [i, at] of matchOutputs(items)) assert.equal(kept[i], kept[at], `${i} answers ${at}`)
    for (const [i, item] of items.entries()) {
      if (item.type === 'reasoning' && i + 1 < items.length) assert.equal(kept[i], kept[i + 1], `reasoning at ${i}`)
      if (isGuarded(items, i)) assert.equal(kept[i], true, `item ${i}`)
    }
  })
  fc.assert(property, { seed, numRuns: Number(process.env.RUNS ?? 2000) })
})

law('from the newest on the same items are kept, and no older ones are asked for their cost', async (seed) => {
  const property = fc.asyncProperty(contexts, fc.nat({ max: 300 }), async ({ items, costs }, room) => {
    const asked: number[] = []
    const found = await keepNewest(items, room, async (i, most) => {
      asked.push(i)
      return Math.min(costs[i]!, most + 1)
    })
    const total = costs.reduce((sum, cost) => sum + cost, 0)
    assert.deepEqual(found.kept, dropPlainly(items, costs, total - room))
    assert.equal(new Set(asked).size, asked.length)
    const known = asked.map((i) => found.costs[i]!)
    assert.ok(known.slice(0, -1).reduce((sum, cost) => sum + cost, 0) <= room)
    for (const [i, cost] of found.costs.entries()) if (found.kept[i] && total <= room) assert.equal(cost, costs[i])
  })
  await fc.assert(property, { seed, numRuns: Number(process.env.RUNS ?? 1000) })
})

/** The same rule, simple and slow: items that belong together get one color. */
function dropPlainly(items: readonly Item[], costs: readonly number[], excess: number): boolean[] {
  let colors = items.map((_, i) => i)
  const paint = (from: number, to: number) => {
    colors = colors.map((color) => (color === from ? to : color))
  }
  for (const [i, at] of matchOutputs(items)) paint(colors[i]!, colors[at]!)
  for (const [i, { type }] of items.entries()) {
    if (type === 'reasoning' && i + 1 < items.length) paint(colors[i]!, colors[i + 1]!)
  }
  const guarded = new Set(colors.filter((_, i) => isGuarded(items, i)))
  const kept = items.map(() => true)
  let rest = excess
  for (const color of new Set(colors)) {
    if (rest <= 0) break
    if (guarded.has(color)) continue
    for (const [i, each] of colors.entries()) {
      if (each !== color) continue
      kept[i] = false
      rest -= costs[i]!
    }
  }
  return kept
}

function isGuarded(items: readonly Item[], i: number): boolean {
  const item = items[i]!
  const lastOfUser = items.findLastIndex((each) => each.type === 'message' && each.role === 'user')
  const instructs = item.type === 'message' && (item.role === 'system' || item.role === 'developer')
  return instructs || item.type === 'compaction' || i >= (lastOfUser < 0 ? items.length - 1 : lastOfUser)
}
