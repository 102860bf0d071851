import { Worker } from 'node:worker_threads'
import { openFairQueue } from '../../platform/fair-queue.ts'
import type { ProbeReply, ProbeTask } from './probe.ts'

/** Threads of the process. Each has one file at a time: a probe costs 1 to 15 ms, and one that a hostile file holds up leaves the other. */
const WORKERS = 2
/** A probe that takes longer is reading a hostile file, not a large one. */
const PROBE_SECONDS = 5

type Waiting = { task: ProbeTask; resolve(reply: ProbeReply): void }

// Threads cost memory and hold no state between files, so the process has one set of them.
const waiting = openFairQueue<Waiting>()
const served = new Set<string>()
const idle: Worker[] = []

/**
 * The reply of a worker thread, at most 5 s after it got the task. Owners take turns, and one of them has no more than one worker:
 * files that take long delay the other files of their owner alone.
 */
export function askWorker(task: ProbeTask, owner: string): Promise<ProbeReply> {
  return new Promise((resolve) => {
    waiting.add(owner, { task, resolve })
    startNext()
  })
}

function startNext(): void {
  while (served.size < WORKERS) {
    const next = waiting.take((owner) => !served.has(owner))
    if (!next) return
    const { owner, item } = next
    served.add(owner)
    void ask(item.task).then((reply) => {
      served.delete(owner)
      item.resolve(reply)
      startNext()
    })
  }
}

function ask(task: ProbeTask): Promise<ProbeReply> {
  const worker = idle.pop() ?? startWorker()
  worker.ref()
  return new Promise((resolve) => {
    const settle = (reply: ProbeReply, usable: boolean) => {
      clearTimeout(timer)
      worker.off('message', onMessage).off('error', onError)
      if (usable) {
        worker.unref()
        idle.push(worker)
      } else {
        worker.on('error', () => undefined)
        void worker.terminate()
      }
      resolve(reply)
    }
    const onMessage = (reply: ProbeReply) => settle(reply, true)
    const onError = (error: Error) => settle({ fault: 'unreadable', message: `Probe failed: ${error.message}` }, false)
    const timer = setTimeout(
      () => settle({ fault: 'time_limit', message: 'The file took too long to inspect.' }, false),
      PROBE_SECONDS * 1000,
    )
    worker.on('message', onMessage).on('error', onError)
    worker.postMessage(task)
  })
}

function startWorker(): Worker {
  return new Worker(new URL('./worker.ts', import.meta.url), {
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 192 },
  })
}
