import { type ChildProcess, fork } from 'node:child_process'
import { type ChildKind, enterChild } from './concurrency-limit.ts'

export type ChildOptions = {
  signal?: AbortSignal | undefined
  /** Whose work it is, as for `enterChild`. */
  owner?: string | undefined
  /** In which queue it waits under the limit for all children. Default `repair`. */
  kind?: ChildKind | undefined
  /** From the start of the child, not counting the wait for a slot. */
  time_limit_seconds: number
  /** Of the child and what it starts; beyond it the child ends itself. Default 1200. */
  memory_mb?: number
  /** Further flags of Node for the child. */
  node_flags?: readonly string[]
  /** 0 to 1, never falling. */
  on_progress?: ((progress: number) => void) | undefined
  /** Called once with the child's process id. */
  on_start?: ((pid: number) => void) | undefined
}

/** What the parent sends: the task, and what the child needs to guard itself. */
export type ChildOrder = { task: unknown; parent_pid: number; memory_mb: number }

/** What the child answers: any number of `progress`, then one of the others. */
export type ChildReply =
  | { progress: number }
  | { done: unknown }
  | { error: { name: string; message: string; log: string[] } }

export type ChildFault = 'failed' | 'died' | 'time_limit'

/** A child that returned no result. `cause_name` is the name of the error thrown inside it, `log` its last lines. */
export class ChildError extends Error {
  override name = 'ChildError'
  readonly fault: ChildFault
  readonly cause_name: string | null
  readonly log: readonly string[]

  constructor(fault: ChildFault, message: string, options: { cause_name?: string; log?: readonly string[] } = {}) {
    super(message)
    this.fault = fault
    this.cause_name = options.cause_name ?? null
    this.log = options.log ?? []
  }
}

/**
 * Runs `task` in a fresh Node process whose module is `entry` (it calls `serveTask`) and resolves with its answer.
 * The child leads its own process group and is killed with all of it on abort, at the time limit and when it ends.
 * Its environment only locates programs and libraries: it reads hostile files and must hold no secret.
 * Waits for a slot under the limit for all children. Settles, and frees the slot, once the child is gone: nothing writes to its files any
 * more. Throws ChildError, ChildrenBusy, or the signal's reason.
 */
export async function runChild<T>(entry: URL, task: unknown, options: ChildOptions): Promise<T> {
  const leave = await enterChild(options.kind ?? 'repair', options)
  try {
    options.signal?.throwIfAborted()
    const child = startChild(entry, options)
    // Without an id it never ran.
    const gone = child.pid !== undefined && new Promise((resolve) => child.once('exit', resolve))
    return await answerOf<T>(child, task, options).finally(() => gone)
  } finally {
    leave()
  }
}

function startChild(entry: URL, { node_flags = [], on_start }: ChildOptions): ChildProcess {
  const child = fork(entry, {
    detached: process.platform !== 'win32',
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    execArgv: ['--max-old-space-size=256', '--disable-warning=ExperimentalWarning', ...node_flags],
    env: childEnvironment(),
  })
  if (child.pid !== undefined) on_start?.(child.pid)
  return child
}

function answerOf<T>(child: ChildProcess, task: unknown, options: ChildOptions): Promise<T> {
  const { signal, time_limit_seconds, memory_mb = 1200 } = options
  return new Promise<T>((resolve, reject) => {
    let settled = false
    const settle = (finish: () => void) => {
      if (settled) return
      settled = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      killGroup(child)
      finish()
    }
    const fail = (error: unknown) => settle(() => reject(error))
    const onAbort = () => fail(signal?.reason)
    const timer = setTimeout(
      () => fail(new ChildError('time_limit', `The work took longer than ${time_limit_seconds} s.`)),
      time_limit_seconds * 1000,
    )
    signal?.addEventListener('abort', onAbort, { once: true })
    child.on('error', (error) => fail(new ChildError('died', `The child could not run: ${error.message}`)))
    child.on('exit', (code, killed) => fail(new ChildError('died', `The child ended early (${killed ?? code}).`)))
    const onProgress = risingProgress(options.on_progress)
    child.on('message', (reply: ChildReply) => {
      if ('progress' in reply) return onProgress(reply.progress)
      if ('done' in reply) return settle(() => resolve(reply.done as T))
      const { name, message, log } = reply.error
      fail(new ChildError('failed', message, { cause_name: name, log }))
    })
    const order: ChildOrder = { task, parent_pid: process.pid, memory_mb }
    child.send(order, () => undefined) // a child that is already gone is reported by `exit`
  })
}

/** SIGKILL for the child and everything it started. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

function risingProgress(report: ((progress: number) => void) | undefined): (progress: number) => void {
  let highest = 0
  return (progress) => {
    if (!(progress > highest)) return
    highest = Math.min(1, progress)
    report?.(highest)
  }
}

const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH']

function childEnvironment(): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = {}
  for (const name of INHERITED) if (process.env[name] !== undefined) env[name] = process.env[name]
  return env
}
