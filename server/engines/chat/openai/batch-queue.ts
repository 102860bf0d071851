import type { ChatEvent } from '../contract.ts'

/** What the consumer iterates. Ending the iteration early cancels the rest. */
export type Batches = AsyncIterableIterator<readonly ChatEvent[], undefined, undefined>

export type BatchQueue = {
  batches: Batches
  /** Takes the events of the read in progress; a new array after each batch. */
  events: ChatEvent[]
  /** One piece of `size` bytes has been read into `events`. */
  arrived(size: number): void
  /** Whether the socket waits for the consumer. */
  isPaused(): boolean
  /** No more events after these. */
  end(): void
  /** After these events the iteration rejects with `reason`. */
  fail(reason: unknown): void
}

/**
 * The buffer between the socket and the consumer of one answer, with backpressure. A consumer that waits gets everything of one network
 * read as one batch; while it does not ask, the socket is paused once more than `WAITING_BYTES_MAX` have been read from it.
 */
export function batchQueue(flow: { pause(): void; resume(): void; cancel(): void }): BatchQueue {
  let size = 0
  let paused = false
  let waiting: Waiting | null = null
  let scheduled = false
  let ended = false
  let failure: { reason: unknown } | null = null

  function take(): IteratorResult<readonly ChatEvent[], undefined> {
    const value = queue.events
    queue.events = []
    size = 0
    if (paused) {
      paused = false
      flow.resume()
    }
    return { done: false, value }
  }

  function wake(): void {
    if (waiting === null || scheduled) return
    scheduled = true
    SETTLED.then(answerWaiting)
  }

  function answerWaiting(): void {
    scheduled = false
    if (waiting === null) return
    const { resolve, reject } = waiting
    if (queue.events.length > 0) resolve(take())
    else if (failure !== null) reject(takeError(failure))
    else if (ended) resolve(OVER)
    else return
    waiting = null
  }

  function takeError({ reason }: { reason: unknown }): unknown {
    failure = null
    ended = true
    return reason
  }

  const batches: Batches = {
    [Symbol.asyncIterator]: () => batches,
    next() {
      if (queue.events.length > 0) return Promise.resolve(take())
      if (failure !== null) return Promise.reject(takeError(failure))
      if (ended) return Promise.resolve(OVER)
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject }
      })
    },
    return() {
      if (!ended && failure === null) flow.cancel()
      queue.events = []
      failure = null
      ended = true
      return Promise.resolve(OVER)
    },
  }

  const queue: BatchQueue = {
    batches,
    events: [],
    arrived(bytes) {
      if (queue.events.length === 0) return
      if (waiting !== null) return wake()
      size += bytes
      if (size <= WAITING_BYTES_MAX || paused || ended) return
      paused = true
      flow.pause()
    },
    isPaused: () => paused,
    end() {
      ended = true
      wake()
    },
    fail(reason) {
      failure = { reason }
      wake()
    },
  }
  return queue
}

type Waiting = {
  resolve(result: IteratorResult<readonly ChatEvent[], undefined>): void
  reject(reason: unknown): void
}

/** Bytes of the wire that may wait for a slow consumer; a token is about 250 of them. */
const WAITING_BYTES_MAX = 64 * 1024

const OVER: IteratorResult<readonly ChatEvent[], undefined> = { done: true, value: undefined }

/** Its reactions run once the read in progress is done, so that a read becomes one batch. */
const SETTLED = Promise.resolve()
