import { type ChildProcess, fork } from 'node:child_process'
import { type ChildKind, enterChild, freeSlots } from './concurrency-limit.ts'

export type ChildOptions = {
  signal?: AbortSignal | undefined
  /** Whose work it is, as for `enterChild`. */
  owner?: string | undefined
  /** In which queue it waits under the limit for all children. Default `repair`. */
  kind?: ChildKind | undefined
  /** Whether the caller has a slot of `enterChild` already, for several children one after the other. Default false. */
  has_slot?: boolean | undefined
  /** From the start of the child, not counting the wait for a slot. */
  time_limit_seconds: number
  /** Of the child and what it starts; beyond it the child ends itself. Default 1200. */
  memory_mb?: number
  /**
   * Whether the child may have served other tasks of this module, and may serve further ones: for a module that loads something large and keeps
   * nothing of a task. Default false.
   */
  reuse?: boolean
  /** Further flags of Node for the child. */
  node_flags?: readonly string[]
  /** 0 to 1, never falling. */
  on_progress?: ((progress: number) => void) | undefined
  /** Called once with the child's process id. */
  on_start?: ((pid: number) => void) | undefined
}

/** What the parent sends: the task, and what the child needs to guard itself. */
export type ChildOrder = { task: unknown; parent_pid: number; memory_mb: number }

/** What the child answers: any number of `progress`, then one of the others. `held_mb` is the memory it holds after the task. */
export type ChildReply =
  | { progress: number }
  | { done: unknown; held_mb: number }
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
 * Runs `task` in a fresh Node process (see `reuse`) whose module is `entry` (it calls `serveTask`) and resolves with its answer.
 * The child leads its own process group and is killed with all of it on abort, at the time limit and when it ends.
 * Its environment only locates programs and libraries: it reads hostile files and must hold no secret.
 * Waits for a slot under the limit for all children. Settles, and frees the slot, once the child is gone or idle: nothing writes to its files any
 * more. Throws ChildError, ChildrenBusy, or the signal's reason.
 */
export async function runChild<T>(entry: URL, task: unknown, options: ChildOptions): Promise<T> {
  const leave = options.has_slot ? () => {} : await enterChild(options.kind ?? 'repair', options)
  try {
    options.signal?.throwIfAborted()
    const child = takeIdle(entry) ?? (await startChild(entry, options))
    if (child.pid !== undefined) options.on_start?.(child.pid)
    let is_kept = false
    try {
      const { done, held_mb } = await answerOf(child, task, options)
      is_kept = options.reuse === true && held_mb < HELD_MB_MAX
      return done as T
    } finally {
      if (is_kept) keepIdle(entry, child)
      else await end(child)
    }
  } finally {
    leave()
  }
}

/** A child that holds more after its task is not used again: the next task would reach the limit of memory early. */
const HELD_MB_MAX = 400

async function startChild(entry: URL, { node_flags = [], reuse, signal }: ChildOptions): Promise<ChildProcess> {
  await Promise.all([...idle.keys()].slice(Math.max(0, freeSlots())).map(endIdle))
  signal?.throwIfAborted()
  const child = fork(entry, {
    detached: process.platform !== 'win32',
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    execArgv: ['--max-old-space-size=256', '--disable-warning=ExperimentalWarning', ...node_flags].concat(
      reuse ? ['--expose-gc'] : [],
    ),
    env: childEnvironment(),
  })
  return child.on('error', () => undefined) // `answerOf` reports those of its time
}

/** How long a child waits for another task, in ms: the frames, sounds and thumbnails of a job follow each other within seconds. */
const IDLE_MS = 20_000

/** Children that wait, each with its module and the timer that ends it. They keep no process open. */
const idle = new Map<ChildProcess, { href: string; timer: NodeJS.Timeout }>()

function keepIdle({ href }: URL, child: ChildProcess): void {
  idle.set(child, { href, timer: setTimeout(() => void endIdle(child), IDLE_MS).unref() })
  child.unref()
  child.channel?.unref()
}

async function endIdle(child: ChildProcess): Promise<void> {
  clearTimeout(idle.get(child)?.timer)
  idle.delete(child)
  await end(child)
}

/** A child of this module that waits, if there is one. */
function takeIdle({ href }: URL): ChildProcess | undefined {
  for (const [child, waiting] of idle) {
    if (waiting.href !== href) continue
    idle.delete(child)
    clearTimeout(waiting.timer)
    if (!child.connected) continue
    child.ref()
    child.channel?.ref()
    return child
  }
  return undefined
}

type Answer = Extract<ChildReply, { done: unknown }>

function answerOf(child: ChildProcess, task: unknown, options: ChildOptions): Promise<Answer> {
  const { signal, time_limit_seconds, memory_mb = 1200 } = options
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const onAbort = () => reject(signal?.reason)
  const onError = (error: Error) => reject(new ChildError('died', `The child could not run: ${error.message}`))
  const onExit = (code: number | null, killed: string | null) =>
    reject(new ChildError('died', `The child ended early (${killed ?? code}).`))
  const onProgress = risingProgress(options.on_progress)
  const onMessage = (reply: ChildReply) => {
    if ('progress' in reply) return onProgress(reply.progress)
    if ('done' in reply) return resolve(reply)
    const { name, message, log } = reply.error
    reject(new ChildError('failed', message, { cause_name: name, log }))
  }
  const timer = setTimeout(
    () => reject(new ChildError('time_limit', `The work took longer than ${time_limit_seconds} s.`)),
    time_limit_seconds * 1000,
  )
  signal?.addEventListener('abort', onAbort, { once: true })
  child.on('error', onError).on('exit', onExit).on('message', onMessage)
  const order: ChildOrder = { task, parent_pid: process.pid, memory_mb }
  child.send(order, () => undefined) // a child that is already gone is reported by `exit`
  return promise.finally(() => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    child.off('exit', onExit).off('message', onMessage).off('error', onError)
  })
}

/** Ends the child with everything it started, and resolves once it is gone. */
async function end(child: ChildProcess): Promise<void> {
  // Without an id it never ran.
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  killGroup(child)
  await gone
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

/** Locates programs and libraries, and nothing else: a child that reads hostile files must hold no secret. */
export function childEnvironment(): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = {}
  for (const name of INHERITED) if (process.env[name] !== undefined) env[name] = process.env[name]
  return env
}
