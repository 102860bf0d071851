/*
 * One password at a time in a process. Each takes a core for a tenth of a second, and one of the four threads with which Node reads and writes
 * files: more at once would delay everything else.
 */

/** scrypt with N = 16384, r = 16, p = 1 and a salt of its own, as the login library reads it. */
export function hashPassword(password: string): Promise<string> {
  return inTurn(async () => (await import('better-auth/crypto')).hashPassword(password))
}

export function verifyPassword(given: { hash: string; password: string }): Promise<boolean> {
  return inTurn(async () => (await import('better-auth/crypto')).verifyPassword(given))
}

let last: Promise<unknown> = Promise.resolve()

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const result = last.then(work)
  last = result.catch(() => {})
  return result
}
