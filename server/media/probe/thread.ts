import { Worker } from 'node:worker_threads'

/**
 * Processor time after which a probe is reading a hostile file, not a large one. Not time on the clock: a thread that gets no processor
 * on a busy machine says nothing about its file.
 */
const PROBE_CPU_SECONDS = 5
/** How often a probe that has not ended is looked at. */
const LOOK_SECONDS = 1

/** A worker that gave no reply: it used too much processor time, or it ended. */
export type WorkerFault = { fault: 'time_limit' | 'died'; message: string }
export type ThreadReply = { reply: unknown } | { failed: WorkerFault }

let idle: Worker | null = null

/** The reply of a thread to a task, one task at a time. It has 5 s of processor time. Never rejects. */
export async function askThread(task: unknown): Promise<ThreadReply> {
  const worker = idle ?? startThread()
  idle = worker
  worker.ref()
  return await new Promise((resolve) => {
    const over = () => {
      clearInterval(timer)
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
    }
    const onMessage = (reply: unknown) => {
      over()
      worker.unref()
      resolve({ reply })
    }
    const fail = (fault: WorkerFault['fault'], message: string) => {
      over()
      idle = null
      void worker.terminate()
      resolve({ failed: { fault, message } })
    }
    const onError = (error: Error) => fail('died', `The probe failed: ${error.message}`)
    const onExit = () => fail('died', 'The probe ended early.')
    let before: NodeJS.CpuUsage | null = null
    const timer = setInterval(async () => {
      // None while the worker waits for the disk.
      const used = await worker.cpuUsage().catch(() => null)
      before ??= used
      if (used === null || before === null) return
      const microseconds = used.user + used.system - before.user - before.system
      if (microseconds > PROBE_CPU_SECONDS * 1e6) fail('time_limit', 'The file took too long to inspect.')
    }, LOOK_SECONDS * 1000)
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
    worker.postMessage(task)
  })
}

/** A thread that ends while it has nothing to do is not asked again. */
function startThread(): Worker {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 192 },
  })
  worker.on('error', () => undefined)
  worker.on('exit', () => {
    if (idle === worker) idle = null
  })
  return worker
}
