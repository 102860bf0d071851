import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTokensInTurns } from './tokenizer.ts'
import { beginInTurn, mapInTurns, nextTurn, takingTurnsAs } from './turns.ts'

const LONG: Array<[what: string, work: (piece: () => void) => Promise<unknown>]> = [
  ['counting tokens', (piece) => countTokensInTurns('word '.repeat(50_000), { signal: noticing(piece) })],
  ['a long list', (piece) => mapInTurns(new Array(200).fill(piece), spin)],
]

for (const [what, work] of LONG) {
  test(`${what} for many requests at once: between two turns of the event loop one of them goes on`, async () => {
    await work(() => {})
    let most = 0
    let now = new Set<number>()
    let first = true
    const count = () => {
      // All of them begin at once.
      if (!first) most = Math.max(most, now.size)
      first = false
      now = new Set()
      turning = setImmediate(count)
    }
    let turning = setImmediate(count)
    await Promise.all(Array.from({ length: 6 }, (_, request) => work(() => now.add(request))))
    clearImmediate(turning)
    assert.equal(most, 1)
  })
}

test('work that nobody wants any more is over at its next turn, which others have at once', async () => {
  const gone = new AbortController()
  const works = Array.from({ length: 10 }, () =>
    mapInTurns(
      new Array(1000).fill(() => {}),
      spin,
      gone.signal,
    ),
  )
  await new Promise((resolve) => setImmediate(resolve))
  gone.abort(new Error('gone'))
  let turns = 0
  let turning = setImmediate(function count() {
    turns++
    turning = setImmediate(count)
  })
  await nextTurn()
  clearImmediate(turning)
  assert.ok(turns <= 2, `${turns} turns`)
  for (const work of works) await assert.rejects(work, /gone/)
})

test('work of one owner waits for one piece of another at a time, however many requests of the other have work', async () => {
  const over = new AbortController()
  const turns: string[] = []
  const work = (owner: string, request: string) =>
    takingTurnsAs(owner, () => {
      const note = () => {
        if (turns.at(-1) !== request) turns.push(request)
      }
      return mapInTurns(new Array(500).fill(note), spin, over.signal)
    })
  const many = Array.from({ length: 20 }, (_, i) => work('many', `${i}`))
  await work('few', 'few')
  over.abort(new Error('over'))
  await Promise.allSettled(many)
  // Each begins before it first waits.
  const rounds = turns.slice(turns.indexOf('few') + 1).filter((request) => request !== 'few').length
  const own = turns.filter((request) => request === 'few').length
  assert.ok(own > 3 && rounds <= own, turns.join(' '))
})

test('of requests that arrive together few of each owner begin between two looks at the sockets', async () => {
  const begun: string[] = []
  const begin = async (owner: string) => {
    await beginInTurn(owner)
    begun.push(owner)
  }
  const all = Promise.all([...new Array(200).fill('many'), 'few', 'few'].map(begin))
  await nextTurn()
  assert.ok(begun.length < 50, `${begun.length} have begun`)
  assert.equal(begun.filter((owner) => owner === 'few').length, 2)
  await all
  assert.equal(begun.length, 202)
})

test('of requests that arrive together and take long to begin, few begin between two looks at the sockets', async () => {
  const begun: string[] = []
  /** As a socket brings one: in a callback of its own, with others before the next look. */
  const arrive = (owner: string) =>
    new Promise<void>((resolve) => {
      setImmediate(async () => {
        await beginInTurn(owner)
        begun.push(owner)
        block(6)
        resolve()
      })
    })
  const rounds: number[] = []
  let seen = 0
  const look = () => {
    rounds.push(begun.length - seen)
    seen = begun.length
    looking = setImmediate(look)
  }
  let looking = setImmediate(look)
  await Promise.all([...new Array(20).fill('slow'), 'other', 'other'].map(arrive))
  clearImmediate(looking)
  assert.equal(begun.length, 22)
  assert.ok(Math.max(...rounds) <= 5, rounds.join(' '))
  assert.ok(begun.lastIndexOf('other') <= 6, begun.join(' '))
})

/** Calls back whenever the work looks whether it is to go on. */
function noticing(piece: () => void): AbortSignal {
  return { throwIfAborted: piece } as unknown as AbortSignal
}

/** A fifth of a millisecond of work. */
function spin(piece: () => void): void {
  piece()
  block(0.2)
}

function block(milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}
