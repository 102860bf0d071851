import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

/** How long a process may take to start; then it is killed. */
const READY_SECONDS = 30
/** A process that has served for so long was sound: the next one is started at once. */
const SOUND_SECONDS = 60
const PAUSE_SECONDS_MAX = 30

export type SlotOptions<Ready> = {
  fork: () => ChildProcess
  /** What a message of a starting process means: null when it is about something else. Throws the reason why it cannot start. */
  readReady: (message: unknown) => Ready | null
  /** A process that was ready has ended. */
  on_died: (pid: number) => void
  /** One that was to replace it did not start. */
  on_failed: (error: unknown) => void
  on_restart: () => void
  signal: AbortSignal
  pause?: (seconds: number, signal: AbortSignal) => Promise<void>
}

/**
 * Starts one process and, until `signal` aborts, replaces it whenever it ends or does not start in time: at once the first time, then after
 * a pause that doubles. Resolves once the first one is ready. Throws, with nothing left running, when that one does not start.
 */
export async function openSlot<Ready>(options: SlotOptions<Ready>): Promise<Ready> {
  const first = await startProcess(options)
  void keepRunning(first, options)
  return first.ready
}

/** Seconds before a process is replaced, after so many that did not last: 0, 1, 2, 4 and so on, up to half a minute. */
export function pauseAfter(failures: number): number {
  return failures === 0 ? 0 : Math.min(2 ** (failures - 1), PAUSE_SECONDS_MAX)
}

type Running<Ready> = { ready: Ready; pid: number; since: number; ended: Promise<void> }

async function keepRunning<Ready>(first: Running<Ready>, options: SlotOptions<Ready>): Promise<void> {
  const { on_died, on_failed, on_restart, signal, pause = pauseUnlessStopped } = options
  let running: Running<Ready> | null = first
  for (let failures = 0; !signal.aborted; failures += 1) {
    if (running) {
      await running.ended
      if (signal.aborted) return
      on_died(running.pid)
      if (performance.now() - running.since >= SOUND_SECONDS * 1000) failures = 0
    }
    await pause(pauseAfter(failures), signal)
    if (signal.aborted) return
    on_restart()
    running = await startProcess(options).catch((error: unknown) => {
      if (!signal.aborted) on_failed(error)
      return null
    })
  }
}

async function pauseUnlessStopped(seconds: number, signal: AbortSignal): Promise<void> {
  await sleep(seconds * 1000, undefined, { signal }).catch(() => {})
}

/** Resolves once the process is ready. Throws when it does not become so; it has ended then. */
async function startProcess<Ready>({ fork, readReady }: SlotOptions<Ready>): Promise<Running<Ready>> {
  const child = fork()
  const starting = Promise.withResolvers<Ready>()
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.on('error', (error) => {
      starting.reject(error)
      // One that could not be made has no exit.
      if (child.pid === undefined) resolve()
    })
  })
  const onMessage = (message: unknown) => {
    try {
      const ready = readReady(message)
      if (ready !== null) starting.resolve(ready)
    } catch (error) {
      starting.reject(error)
    }
  }
  child.on('message', onMessage)
  void ended.then(() => starting.reject(new Error('an HTTP process ended while it started')))
  const late = () => starting.reject(new Error('an HTTP process did not start in time'))
  const timer = setTimeout(late, READY_SECONDS * 1000)
  try {
    return { ready: await starting.promise, pid: child.pid ?? 0, since: performance.now(), ended }
  } catch (error) {
    child.kill('SIGKILL')
    await ended
    throw error
  } finally {
    clearTimeout(timer)
    child.off('message', onMessage)
  }
}

/** Asks a running process to end by SIGTERM; kills it when it has not ended in time. */
export async function endProcess(child: ChildProcess, { seconds }: { seconds: number }): Promise<'ended' | 'killed'> {
  const exit = new Promise((resolve) => child.once('exit', resolve))
  let outcome: 'ended' | 'killed' = 'ended'
  const timer = setTimeout(() => {
    outcome = 'killed'
    child.kill('SIGKILL')
  }, seconds * 1000)
  child.kill('SIGTERM')
  await exit
  clearTimeout(timer)
  return outcome
}
