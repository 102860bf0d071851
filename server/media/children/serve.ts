import { Worker } from 'node:worker_threads'
import type { ChildOrder, ChildReply } from './run.ts'

export type TaskHandler<T> = (task: T, report: (progress: number) => void) => Promise<unknown>

/** An error whose `log` the parent should see. */
export type LoggedError = Error & { log?: readonly string[] }

/**
 * The child's side of `runChild`: carries out each task it is sent, one at a time, and answers. The parent ends it.
 * It ends at once when the parent is gone or when it outgrows its memory, even in the middle of a long computation.
 */
export function serveTask<T>(handle: TaskHandler<T>): void {
  process.on('message', async (order: ChildOrder) => {
    startGuard(order)
    const report = (progress: number) => reply({ progress })
    try {
      const done = await handle(order.task as T, report)
      globalThis.gc?.() // a child that is used again runs with --expose-gc
      reply({ done, held_mb: process.memoryUsage.rss() / 1e6 })
    } catch (error) {
      const { name, message, log } =
        error instanceof Error ? (error as LoggedError) : (new Error(String(error)) as LoggedError)
      reply({ error: { name, message, log: [...(log ?? [])] } })
    }
  })
  process.once('disconnect', endGroup)
}

/** Counts the memory of a program this child started with its own. */
export function guardProgram(pid: number | undefined): void {
  guard?.postMessage(pid ?? null)
}

let guard: Worker | null = null

/** A thread of its own, because a WebAssembly call holds the main one for seconds. */
function startGuard(order: ChildOrder): void {
  if (guard !== null) return
  guard = new Worker(GUARD, {
    eval: true,
    execArgv: [],
    workerData: order,
    resourceLimits: { maxOldGenerationSizeMb: 16 },
  })
  guard.unref()
}

const GUARD = `
const { parentPort, workerData } = require('node:worker_threads')
const { readFileSync } = require('node:fs')
let program = null
parentPort.on('message', (pid) => { program = pid })
const programMb = () => {
  if (program === null) return 0
  try { return Number(readFileSync('/proc/' + program + '/statm', 'utf8').split(' ')[1]) * 4096 / 1e6 } catch { return 0 }
}
setInterval(() => {
  const orphaned = process.ppid !== workerData.parent_pid
  if (!orphaned && process.memoryUsage.rss() / 1e6 + programMb() < workerData.memory_mb) return
  try { process.kill(-process.pid, 'SIGKILL') } catch { process.kill(process.pid, 'SIGKILL') }
}, 200)
`

function reply(message: ChildReply): void {
  if (process.connected) process.send?.(message)
}

function endGroup(): void {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } catch {
    process.exit(1)
  }
}
