import { EngineError } from '../../engine-error.ts'
import type { ChatEvent } from '../contract.ts'
import type { FromChild } from './protocol.ts'

type Reply = Exclude<FromChild, { type: 'loaded' | 'load_failed' }>

/** One turn at the child. */
export type ChildExchange = {
  /** Resolves once the child has checked the turn and begun; or with its count of tokens. Rejects when it refused. */
  accepted: Promise<number>
  /** Resolves when the child is done with the turn, however it ended. */
  ended: Promise<void>
  batches: AsyncIterable<readonly ChatEvent[]>
  receive(reply: Reply): void
  fail(error: unknown): void
}

/** `abort` asks the child to stop: on the signal, and when the reader leaves. What the child sent before is read first, unless aborted. */
export function openChildExchange(signal: AbortSignal, abort: () => void): ChildExchange {
  const accepted = Promise.withResolvers<number>()
  const ended = Promise.withResolvers<void>()
  // Whoever waits for it sees the error; nobody may be left to wait.
  accepted.promise.catch(() => undefined)
  let arrived: ChatEvent[] = []
  let news = Promise.withResolvers<void>()
  let failure: { error: unknown } | null = null
  let done = false

  const wake = () => {
    news.resolve()
    news = Promise.withResolvers()
  }
  const stop = () => {
    if (done) return
    abort()
    failure ??= { error: signal.reason }
    accepted.reject(signal.reason)
    wake()
  }
  const end = (error?: unknown) => {
    done = true
    signal.removeEventListener('abort', stop)
    if (error !== undefined) {
      failure ??= { error }
      accepted.reject(error)
    }
    ended.resolve()
    wake()
  }
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()

  async function* batches(): AsyncGenerator<readonly ChatEvent[]> {
    try {
      while (true) {
        signal.throwIfAborted()
        if (arrived.length > 0) {
          // The end comes by itself, so that who leaves at what came before it is not answered in full.
          const batch = arrived.length > 1 && arrived.at(-1)!.type === 'end' ? arrived.slice(0, -1) : arrived
          arrived = arrived.slice(batch.length)
          yield batch
        } else if (failure !== null) {
          throw failure.error
        } else if (done) {
          return
        } else {
          await news.promise
        }
      }
    } finally {
      if (!done) abort()
    }
  }

  return {
    accepted: accepted.promise,
    ended: ended.promise,
    batches: batches(),
    receive(reply) {
      if (reply.type === 'accepted') return accepted.resolve(0)
      if (reply.type === 'events') {
        arrived.push(...reply.events)
        return wake()
      }
      if (reply.type === 'counted') accepted.resolve(reply.tokens)
      end(
        reply.type === 'failed' ? new EngineError(reply.failure.kind, reply.failure.message, reply.failure) : undefined,
      )
    },
    fail: end,
  }
}
