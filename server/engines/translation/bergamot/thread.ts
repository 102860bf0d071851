import { Worker } from 'node:worker_threads'

/** A worker thread that answers calls by name. */
export type Thread = {
  /** Rejects with what the thread answers, or when it ends. */
  call(name: string, ...args: unknown[]): Promise<unknown>
  stop(): void
}

type Waiting = { resolve(result: unknown): void; reject(error: Error): void }
type Answer = { id: number; result?: unknown; error?: { message?: unknown } }

/**
 * Starts a thread that is called by messages `{ id, name, args }` and answers `{ id, result }` or `{ id, error }`, as the worker of
 * `@browsermt/bergamot-translator` does. It keeps the process alive only during a call; what it prints is dropped.
 */
export function startThread(entry: URL, workerData?: string): Thread {
  const worker = new Worker(entry, { workerData, stdout: true, stderr: true })
  worker.stdout.resume()
  worker.stderr.resume()
  worker.unref()
  const calls = new Map<number, Waiting>()
  let ended: Error | null = null
  let last = 0

  const failAll = (error: Error) => {
    ended ??= error
    for (const { reject } of calls.values()) reject(error)
    calls.clear()
    worker.unref()
  }
  worker.on('message', ({ id, result, error }: Answer) => {
    const waiting = calls.get(id)
    if (waiting === undefined) return
    calls.delete(id)
    if (calls.size === 0) worker.unref()
    if (error === undefined) waiting.resolve(result)
    else waiting.reject(new Error(typeof error?.message === 'string' ? error.message : 'no reason given'))
  })
  worker.on('error', (error) => failAll(error instanceof Error ? error : new Error(String(error))))
  worker.on('exit', () => failAll(new Error('the thread has ended')))

  return {
    call(name, ...args) {
      if (ended !== null) return Promise.reject(ended)
      const id = ++last
      worker.ref()
      return new Promise((resolve, reject) => {
        calls.set(id, { resolve, reject })
        worker.postMessage({ id, name, args })
      })
    },
    stop: () => void worker.terminate(),
  }
}
