import { openFairQueue } from '../../platform/fair-queue.ts'
import { turnOwner } from '../../platform/turns.ts'

/** scrypt with N = 16384, r = 16, p = 1 and a salt of its own, as the login library reads it. */
export function hashPassword(password: string): Promise<string> {
  return inTurn(async () => (await import('better-auth/crypto')).hashPassword(password))
}

export function verifyPassword(given: { hash: string; password: string }): Promise<boolean> {
  return inTurn(async () => (await import('better-auth/crypto')).verifyPassword(given))
}

/*
 * One password at a time in a process. Each takes a core for a tenth of a second, and one of the four threads with which Node reads and writes
 * files: more at once would delay everything else.
 */
const waiting = openFairQueue<() => Promise<void>>()
let busy = false

/** Whoever asks, by address or organization, waits for at most one password of each other. */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>()
  waiting.add(turnOwner(), async () => {
    const result = work()
    resolve(result)
    await result.catch(() => {})
  })
  if (!busy) void workOff()
  return promise
}

async function workOff(): Promise<void> {
  busy = true
  for (let next = waiting.take(); next; next = waiting.take()) await next.item()
  busy = false
}
