import { Worker } from 'node:worker_threads'
import { openFairQueue } from '../../platform/fair-queue.ts'

/** Threads of the process. Each has one file at a time: a probe costs 1 to 15 ms, and one that a hostile file holds up leaves the other. */
const WORKERS = 2
/**
 * Processor time after which a probe is reading a hostile file, not a large one. Not time on the clock: a thread that gets no processor
 * on a busy machine says nothing about its file.
 */
const PROBE_CPU_SECONDS = 5
/** How often a probe that has not ended is looked at. */
const LOOK_SECONDS = 1

/** A worker that gave no reply: it used too much processor time, or it ended. */
export class WorkerError extends Error {
  override name = 'WorkerError'
  readonly fault: 'time_limit' | 'died'

  constructor(fault: 'time_limit' | 'died', message: string) {
    super(message)
    this.fault = fault
  }
}

type Waiting = { task: unknown; resolve(reply: never): void; reject(error: unknown): void }

// Threads cost memory and hold no state between files, so the process has one set of them.
const waiting = openFairQueue<Waiting>()
const served = new Set<string>()
const idle: Worker[] = []

/**
 * The reply of a worker thread to `task`, for which it has 5 s of processor time. Owners take turns, and one of them has no more than one worker: its
 * files that take long leave the other to the rest. Throws WorkerError, or the signal's reason while it waits.
 */
export function askWorker<Reply>(
  task: unknown,
  { owner, signal }: { owner: string; signal?: AbortSignal | undefined },
): Promise<Reply> {
  return new Promise<Reply>((resolve, reject) => {
    signal?.throwIfAborted()
    const onAbort = () => {
      if (waiting.remove(owner, item)) reject(signal?.reason)
    }
    const leave = () => signal?.removeEventListener('abort', onAbort)
    const item: Waiting = {
      task,
      resolve(reply) {
        leave()
        resolve(reply)
      },
      reject(error) {
        leave()
        reject(error)
      },
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    waiting.add(owner, item)
    startNext()
  })
}

function startNext(): void {
  while (served.size < WORKERS) {
    const next = waiting.take((owner) => !served.has(owner))
    if (!next) return
    served.add(next.owner)
    void serve(next.owner, next.item)
  }
}

/** Never rejects: whatever happens to a file, its owner and its worker's place are free again. */
async function serve(owner: string, { task, resolve, reject }: Waiting): Promise<void> {
  try {
    resolve((await ask(task)) as never)
  } catch (error) {
    reject(error)
  }
  served.delete(owner)
  startNext()
}

async function ask(task: unknown): Promise<unknown> {
  const worker = idle.pop() ?? startWorker()
  worker.ref()
  return await new Promise((resolve, reject) => {
    const over = () => {
      clearInterval(timer)
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
    }
    const onMessage = (reply: unknown) => {
      over()
      worker.unref()
      idle.push(worker)
      resolve(reply)
    }
    const fail = (error: WorkerError) => {
      over()
      void worker.terminate()
      reject(error)
    }
    const onError = (error: Error) => fail(new WorkerError('died', `The probe failed: ${error.message}`))
    const onExit = () => fail(new WorkerError('died', 'The probe ended early.'))
    let before: NodeJS.CpuUsage | null = null
    const timer = setInterval(async () => {
      // None while the worker waits for the disk.
      const used = await worker.cpuUsage().catch(() => null)
      before ??= used
      if (used === null || before === null) return
      const microseconds = used.user + used.system - before.user - before.system
      if (microseconds > PROBE_CPU_SECONDS * 1e6)
        fail(new WorkerError('time_limit', 'The file took too long to inspect.'))
    }, LOOK_SECONDS * 1000)
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
    worker.postMessage(task)
  })
}

/** A worker that ends while it has nothing to do is not asked again. */
function startWorker(): Worker {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 192 },
  })
  worker.on('error', () => undefined)
  worker.on('exit', () => {
    const place = idle.indexOf(worker)
    if (place >= 0) idle.splice(place, 1)
  })
  return worker
}
