import { EngineError } from '../../engine-error.ts'

export type Queue = {
  /** Resolves with the function that ends the request's time at work. Throws EngineError `overloaded` when too many wait, or the signal's reason. */
  enter(signal: AbortSignal): Promise<() => void>
}

/** Of a rejected request: seconds until it may try again. */
const RETRY_AFTER_SECONDS = 5

/** At most `parallel` at work at once; the others wait in the order in which they came, at most `waiting_max` of them. */
export function openQueue(parallel: number, waiting_max: number): Queue {
  let free = parallel
  const waiting = new Set<() => void>()

  const leave = () => {
    const [next] = waiting
    if (next === undefined) free++
    else next()
  }
  const leaveOnce = () => {
    let held = true
    return () => {
      if (held) leave()
      held = false
    }
  }

  return {
    async enter(signal) {
      signal.throwIfAborted()
      if (free > 0) {
        free--
        return leaveOnce()
      }
      if (waiting.size >= waiting_max)
        throw new EngineError('overloaded', `${waiting.size} requests wait for the model already.`, {
          retry_after_seconds: RETRY_AFTER_SECONDS,
        })
      return new Promise((resolve, reject) => {
        const onAbort = () => {
          waiting.delete(onTurn)
          reject(signal.reason)
        }
        const onTurn = () => {
          waiting.delete(onTurn)
          signal.removeEventListener('abort', onAbort)
          resolve(leaveOnce())
        }
        waiting.add(onTurn)
        signal.addEventListener('abort', onAbort, { once: true })
      })
    },
  }
}
