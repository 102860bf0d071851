import cluster, { type Worker } from 'node:cluster'
import type { Log } from '../../platform/log.ts'
import type { Counter } from '../../platform/metrics/metrics.ts'
import { StartError } from '../../platform/start-error.ts'
import type { NextSettings } from '../../reload/node.ts'
import type { Boot } from '../boot.ts'
import type { FromHttpProcess, ToHttpProcess } from './messages.ts'
import { endProcess, openSlot } from './slot.ts'

/** How long a process may take to take up other settings; then it is replaced. */
const RELOAD_SECONDS = 10
/** What requests and work in progress may take at most, after `drain_seconds`. Source: docs/operating/nodes.md. */
const STOP_SECONDS = 70

export type HttpProcesses = {
  url: string
  pids(): number[]
  /** Has every process take the settings up; one that does not is replaced. Returns the process ids of those that did. */
  reload(next: NextSettings): Promise<number[]>
  stop(skip?: AbortSignal): Promise<void>
}

/**
 * Starts the processes of `--workers N`, which answer requests while this one keeps the background work; of a node with the role `worker`
 * they do the background work. One that dies is replaced, and counted in `restarts`. `freePort` is called when the first one is about to
 * listen. `stop` lets them answer for `drain_seconds` until `skip` aborts.
 * Boot settings travel over the channel between the processes, never in an environment others can read.
 * Throws StartError, with none left running, when they cannot listen.
 */
export async function startHttpProcesses(
  first: Boot,
  { log, restarts, freePort }: { log: Log; restarts: Counter; freePort: () => Promise<void> },
): Promise<HttpProcesses> {
  let boot = first
  cluster.setupPrimary({ serialization: 'advanced' })
  const stopping = new AbortController()
  const start = () =>
    openSlot({
      fork: () => forkHttpProcess(boot, freePort),
      readReady,
      on_died: (pid) => log.error('http_process_died', { detail: `process ${pid}` }),
      on_failed: (error) => log.error('http_process_failed', { error }),
      on_restart: () => restarts.add(1),
      signal: stopping.signal,
    })
  const stop = async (skip?: AbortSignal) => {
    stopping.abort()
    await stopHttpProcesses(boot, log, skip)
  }
  try {
    // Port 0 is one and the same port for all of them: the cluster picks it once.
    const url = await start()
    await Promise.all(Array.from({ length: boot.config.workers - 1 }, start))
    return {
      url,
      pids: () => living().map(pidOf),
      async reload(next) {
        boot = { ...boot, ...next }
        const took = await Promise.all(living().map((worker) => reloadHttpProcess(worker, next)))
        return took.flatMap((pid) => pid ?? [])
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function forkHttpProcess(boot: Boot, freePort: () => Promise<void>) {
  const worker = cluster.fork()
  worker.send(boot satisfies ToHttpProcess)
  // The process emits its errors as well, where they are handled.
  worker.on('error', () => {})
  worker.on('message', async (message: FromHttpProcess) => {
    if (!('opened' in message)) return
    await freePort()
    if (worker.isConnected()) worker.send({ listen: true } satisfies ToHttpProcess)
  })
  return worker.process
}

/** The URL at which a process listens. Throws StartError when it cannot. */
function readReady(message: unknown): string | null {
  const from = message as FromHttpProcess
  if ('refused' in from) throw new StartError(from.refused)
  return 'ready' in from ? from.ready : null
}

/** Lets every process end its requests and its work; one that does not end is killed. */
async function stopHttpProcesses({ config }: Boot, log: Log, skip?: AbortSignal): Promise<void> {
  const workers = living()
  const ended = workers.map(async (worker) => {
    if ((await endProcess(worker.process, { seconds: config.drain_seconds + STOP_SECONDS })) === 'killed')
      log.error('http_process_killed', { detail: `process ${pidOf(worker)} did not end` })
  })
  const skipDrain = () => {
    for (const worker of workers) if (worker.isConnected()) worker.send({ skip: true } satisfies ToHttpProcess)
  }
  if (skip?.aborted) skipDrain()
  else skip?.addEventListener('abort', skipDrain, { once: true })
  await Promise.all(ended)
}

function living(): Worker[] {
  return Object.values(cluster.workers ?? {}).flatMap((worker) => (worker && !worker.isDead() ? [worker] : []))
}

function pidOf({ process: { pid } }: Worker): number {
  return pid ?? 0
}

/** Its process id once it has the settings; null when it does not take them up in time, and is killed to be replaced. */
function reloadHttpProcess(worker: Worker, next: NextSettings): Promise<number | null> {
  return new Promise((resolve) => {
    const end = (pid: number | null) => {
      clearTimeout(timer)
      worker.off('message', onMessage).off('exit', onExit)
      if (pid === null && !worker.isDead()) worker.process.kill('SIGKILL')
      resolve(pid)
    }
    const timer = setTimeout(end, RELOAD_SECONDS * 1000, null)
    const onExit = () => end(null)
    const onMessage = (message: FromHttpProcess) => {
      if ('reloaded' in message) end(pidOf(worker))
    }
    worker.on('message', onMessage).on('exit', onExit)
    worker.send({ reload: next } satisfies ToHttpProcess)
  })
}
