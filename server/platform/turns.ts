import { AsyncLocalStorage } from 'node:async_hooks'
import { openFairQueue } from './fair-queue.ts'

/** Work that goes on this long yields to other requests. */
const TURN_MILLISECONDS = 10
/** Items between two looks at the clock. */
const LOOK_EVERY = 64

/**
 * A place in long work where other work may run: a promise to await once this has held the event loop for about 10 ms, else nothing.
 * `look_every`: calls between two looks at the clock. `signal`: see `nextTurn`.
 */
export function turnTaker(look_every = LOOK_EVERY, signal?: AbortSignal): () => Promise<void> | undefined {
  let since = performance.now()
  let items = 0
  return () => {
    if (++items % look_every !== 0 || performance.now() - since < TURN_MILLISECONDS) return undefined
    return nextTurn(signal).then(() => {
      since = performance.now()
    })
  }
}

/** Between two pieces of work on as many items: a promise to await when they are many, else nothing. `signal`: see `nextTurn`. */
export function yieldAfter(items: number, signal?: AbortSignal): Promise<void> | undefined {
  return items > MANY ? nextTurn(signal) : undefined
}

/** Fewer items are done with in a millisecond or two. */
const MANY = 1000

/**
 * Resolves when long work may go on. The long work of a process takes turns: between two looks at its sockets one piece of it runs, however
 * many requests have brought such work. Owners take turns, too: work waits for at most one piece of each other owner's. Rejects with the
 * reason of `signal` when nobody wants the work any more: its turn is another's then.
 */
export function nextTurn(signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    waiting.add(turnOwner(), { resolve, reject, signal })
    if (waiting.size() === 1) setImmediate(letNext)
  })
}

/**
 * A promise to await where a request begins whose owner has begun many since the last look at the sockets, or one when that is long ago, else
 * nothing: of those that arrive together the first begin at once, the others a few at a time, and owners take turns at that. So a request of
 * another owner, and what it awaits, runs between them.
 */
export function beginInTurn(owner: string): Promise<void> | undefined {
  if (begun.size === 0) {
    setImmediate(beginMore)
    looked = performance.now()
  }
  const count = (begun.get(owner) ?? 0) + 1
  begun.set(owner, count)
  const many = count > BEGUN_MAX || (count > 1 && isLong(looked)) || beginnings.size(owner) > 0
  return many ? new Promise((resolve) => beginnings.add(owner, resolve)) : undefined
}

const isLong = (since: number) => performance.now() - since > TURN_MILLISECONDS

/** Requests that begin between two looks at the sockets: of each owner when they arrive, and of all that have waited. A few milliseconds. */
const BEGUN_MAX = 16
/** Requests of each owner that have arrived since the last look at the sockets, or have waited until then. */
const begun = new Map<string, number>()
/** When the first of `begun` began. */
let looked = 0
const beginnings = openFairQueue<() => void>()

async function beginMore(): Promise<void> {
  begun.clear()
  looked = performance.now()
  for (let count = 0; count < BEGUN_MAX; count++) {
    const next = beginnings.take()
    if (!next) break
    next.item()
    // Whoever arrives now waits behind those that have waited.
    begun.set(next.owner, BEGUN_MAX)
    // It runs now, until it waits for something.
    await null
    if (isLong(looked)) break
  }
  if (begun.size > 0) setImmediate(beginMore)
}

/**
 * Runs work, and all that it awaits or starts, whose turns are those of `owner`: an organization, or an address while nobody knows whose
 * request it is. The owner of what the service does for all is ''.
 */
export function takingTurnsAs<T>(owner: string, work: () => T): T {
  return owners.run(owner, work)
}

/** Whose turns the running code takes. */
export function turnOwner(): string {
  return owners.getStore() ?? ''
}

type Waiting = { resolve(): void; reject(reason: unknown): void; signal: AbortSignal | undefined }

const owners = new AsyncLocalStorage<string>()
// The process has one event loop, and so one queue of turns.
const waiting = openFairQueue<Waiting>()

function letNext(): void {
  for (let next = waiting.take(); next; next = waiting.take()) {
    const { resolve, reject, signal } = next.item
    if (!signal?.aborted) {
      resolve()
      break
    }
    reject(signal.reason)
  }
  if (waiting.size() > 0) setImmediate(letNext)
}

/**
 * `map` for arrays of any length and elements of any size, with other work in between. Rejects with what `each` throws, and once `signal`
 * aborts.
 */
export async function mapInTurns<T, R>(
  items: readonly T[],
  each: (item: T, index: number) => R,
  signal?: AbortSignal,
): Promise<R[]> {
  const results: R[] = []
  const turn = turnTaker(1, signal)
  for (const [index, item] of items.entries()) {
    results.push(each(item, index))
    const other = turn()
    if (other) await other
  }
  return results
}
