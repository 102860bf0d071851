import { type ChildProcess, fork } from 'node:child_process'
import { openFairQueue } from '../../platform/fair-queue.ts'
import { childEnvironment } from '../children/run.ts'
import type { ThreadReply, WorkerFault } from './thread.ts'

/** Processes beside this one. Each has one file at a time: a probe costs 1 to 15 ms, and one that a hostile file holds up leaves the other. */
const WORKERS = 2
/** How long a process waits for another file, in ms. */
const IDLE_MS = 60_000

/** A worker that gave no reply: it used too much processor time, or it ended. */
export class WorkerError extends Error {
  override name = 'WorkerError'
  readonly fault: WorkerFault['fault']

  constructor({ fault, message }: WorkerFault) {
    super(message)
    this.fault = fault
  }
}

type Waiting = { task: unknown; resolve(reply: never): void; reject(error: unknown): void }

// They cost memory and hold no state between files, so the process has one set of them.
const waiting = openFairQueue<Waiting>()
const served = new Set<string>()
/** Processes that wait, each with the timer that ends it. They keep no process open. */
const idle = new Map<ChildProcess, NodeJS.Timeout>()

/**
 * The reply of a worker to `task`, for which it has 5 s of processor time. Owners take turns, and one of them has no more than one worker: its
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
  const child = takeIdle() ?? startChild()
  const answer = await new Promise<ThreadReply>((resolve) => {
    const end = (given: ThreadReply) => {
      child.off('message', end).off('exit', onExit).off('error', onExit)
      resolve(given)
    }
    const onExit = () => end({ failed: { fault: 'died', message: 'The probe ended early.' } })
    child.on('message', end).on('exit', onExit).on('error', onExit)
    child.send(task as object, (error) => error && onExit())
  })
  if (child.connected && child.exitCode === null && child.signalCode === null) keepIdle(child)
  if ('failed' in answer) throw new WorkerError(answer.failed)
  return answer.reply
}

function takeIdle(): ChildProcess | undefined {
  for (const [child, timer] of idle) {
    clearTimeout(timer)
    idle.delete(child)
    child.ref()
    child.channel?.ref()
    return child
  }
  return undefined
}

function keepIdle(child: ChildProcess): void {
  const timer = setTimeout(() => {
    idle.delete(child)
    child.kill()
  }, IDLE_MS)
  idle.set(child, timer.unref())
  child.unref()
  child.channel?.unref()
}

/** One that ends while it has nothing to do is not asked again. */
function startChild(): ChildProcess {
  const child = fork(new URL('./child.ts', import.meta.url), {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    execArgv: ['--disable-warning=ExperimentalWarning'],
    env: childEnvironment(),
  })
  child.on('error', () => undefined)
  child.on('exit', () => {
    clearTimeout(idle.get(child))
    idle.delete(child)
  })
  return child
}
