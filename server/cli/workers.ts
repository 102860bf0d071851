import cluster, { type Worker } from 'node:cluster'
import type { App } from '../app.ts'
import { type Log, type OpenLog, openLog } from '../platform/log.ts'
import { growWithRequests } from '../platform/start/memory.ts'
import { StartError } from '../platform/start-error.ts'
import type { NextSettings } from '../reload/node.ts'
import { type Boot, openService } from './boot.ts'

/** Where it listens, or the reason why it cannot, for the operator. */
type FromWorker = { ready: string } | { refused: string } | { reloaded: true }

/** Boot settings are the first message a process gets; each later one has settings that take their place. */
type ToWorker = Boot | { reload: NextSettings } | { skip: true }

/** How long a worker may take to start. */
const READY_SECONDS = 30
/** How long one may take to take up other settings; then it is replaced. */
const RELOAD_SECONDS = 10

export type HttpWorkers = {
  url: string
  pids(): number[]
  /** Has every process take the settings up; one that does not is replaced. Returns the process ids of those that did. */
  reload(next: NextSettings): Promise<number[]>
  stop(skip?: AbortSignal): Promise<void>
}

/**
 * Starts the processes of `--workers N`, which answer requests while this one keeps the background work; of a node with the role `worker`
 * they do the background work. One that dies is replaced. `stop` lets them answer for `drain_seconds` until `skip` aborts.
 * Boot settings travel over the channel between the processes, never in an environment others can read.
 * Throws StartError, with none left running, when they cannot listen.
 */
export async function startHttpWorkers(first: Boot, log: Log): Promise<HttpWorkers> {
  let boot = first
  cluster.setupPrimary({ serialization: 'advanced' })
  let stopping = false
  const start = async (): Promise<string> => {
    const worker = cluster.fork()
    worker.send(boot satisfies ToWorker)
    return readyUrl(worker)
  }
  cluster.on('exit', (worker) => {
    if (stopping) return
    log.error('http_worker_died', { detail: `process ${worker.process.pid}` })
    void start().catch((error: unknown) => log.error('http_worker_failed', { error }))
  })
  const stop = async (skip?: AbortSignal) => {
    stopping = true
    const workers = living()
    const gone = workers.map((worker) => new Promise((resolve) => worker.once('exit', resolve)))
    for (const worker of workers) worker.process.kill('SIGTERM')
    const skipDrain = () => {
      for (const worker of workers) if (worker.isConnected()) worker.send({ skip: true } satisfies ToWorker)
    }
    if (skip?.aborted) skipDrain()
    else skip?.addEventListener('abort', skipDrain, { once: true })
    await Promise.all(gone)
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
        const took = await Promise.all(living().map((worker) => reloadWorker(worker, next)))
        return took.flatMap((pid) => pid ?? [])
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function living(): Worker[] {
  return Object.values(cluster.workers ?? {}).flatMap((worker) => (worker && !worker.isDead() ? [worker] : []))
}

function pidOf({ process: { pid } }: Worker): number {
  return pid ?? 0
}

/** Its process id once it has the settings; null when it does not take them up in time, and is killed to be replaced. */
function reloadWorker(worker: Worker, next: NextSettings): Promise<number | null> {
  return new Promise((resolve) => {
    const end = (pid: number | null) => {
      clearTimeout(timer)
      worker.off('message', onMessage).off('exit', onExit)
      if (pid === null && !worker.isDead()) worker.process.kill('SIGKILL')
      resolve(pid)
    }
    const timer = setTimeout(end, RELOAD_SECONDS * 1000, null)
    const onExit = () => end(null)
    const onMessage = (message: FromWorker) => {
      if ('reloaded' in message) end(pidOf(worker))
    }
    worker.on('message', onMessage).on('exit', onExit)
    worker.send({ reload: next } satisfies ToWorker)
  })
}

/** One of the processes of `--workers N`: answers requests until SIGTERM. Returns the exit code. */
export async function runHttpWorker(): Promise<number> {
  const skip = new AbortController()
  const stopped = new Promise<void>((resolve) => process.once('SIGTERM', () => resolve()))
  void stopped.then(() => process.once('SIGTERM', () => skip.abort()))
  // The terminal sends SIGINT, and SIGHUP, to every process of the group; the first one decides.
  process.on('SIGINT', () => {}).on('SIGHUP', () => {})
  const opened = Promise.withResolvers<App>()
  const log = Promise.withResolvers<OpenLog>()
  process.on('message', (message: ToWorker) => {
    if ('skip' in message) skip.abort()
    if ('reload' in message) void Promise.all([opened.promise, log.promise]).then((to) => takeUp(to, message.reload))
  })
  const boot = await new Promise<Boot>((resolve) => process.once('message', (message) => resolve(message as Boot)))
  const { host, port, role, drain_seconds, log_level } = boot.config
  log.resolve(openLog(log_level))
  // What is being opened may wait for a database that is away, and holds nothing yet.
  let isOpen = false
  void stopped.then(() => isOpen || process.exit(0))
  const app = await openService(boot, await log.promise, role === 'worker' ? 'shared' : 'none')
  isOpen = true
  opened.resolve(app)
  try {
    const ready = await app.listen({ host, port })
    await app.startBackground()
    growWithRequests()
    if (boot.config.metrics) (await import('../platform/metrics/serve.ts')).shareMetrics(app.ctx.metrics)
    process.send?.({ ready } satisfies FromWorker)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    await app.close()
    process.send?.({ refused: error.message } satisfies FromWorker, () => process.disconnect?.())
    return 1
  }
  process.once('disconnect', () => process.exit(0))
  await stopped
  await app.close({ seconds: drain_seconds, skip: skip.signal })
  process.disconnect?.()
  return 0
}

/** A process that cannot take up what the first one has is replaced by one that starts with it. */
function takeUp([app, log]: [App, OpenLog], next: NextSettings): void {
  try {
    app.reload(next)
    log.setLevel(next.config.log_level)
    process.send?.({ reloaded: true } satisfies FromWorker)
  } catch (error) {
    log.error('reload_failed', { error })
    process.exit(1)
  }
}

function readyUrl(worker: Worker): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('an HTTP process did not start in time')), READY_SECONDS * 1000)
    worker.once('message', (message: FromWorker) => {
      clearTimeout(timer)
      if ('ready' in message) resolve(message.ready)
      else if ('refused' in message) reject(new StartError(message.refused))
    })
    worker.once('exit', () => {
      clearTimeout(timer)
      reject(new Error('an HTTP process ended while it started'))
    })
  })
}
