/**
 * What `work` resolves to, or what `late` returns when it takes longer: `late` may throw. The work itself goes on, and what becomes of it
 * then is ignored, an error too.
 */
export async function withTimeout<T, L>(milliseconds: number, work: Promise<T>, late: () => L): Promise<T | L> {
  const { promise, resolve } = Promise.withResolvers<typeof LATE>()
  const timer = setTimeout(resolve, milliseconds, LATE)
  try {
    const first = await Promise.race([work, promise])
    return first === LATE ? late() : first
  } finally {
    clearTimeout(timer)
  }
}

const LATE = Symbol('late')
