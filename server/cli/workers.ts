import cluster, { type Worker } from 'node:cluster'
import { type Log, openLog } from '../platform/log.ts'
import { growWithRequests } from '../platform/start/memory.ts'
import { StartError } from '../platform/start-error.ts'
import { type Boot, openService } from './boot.ts'

/** Where it listens, or the reason why it cannot, for the operator. */
type FromWorker = { ready: string } | { refused: string }

/** How long a worker may take to start. */
const READY_SECONDS = 30

/**
 * Starts the HTTP processes of `--workers N`; this process keeps the background work. One that dies is replaced.
 * Boot settings travel over the channel between the processes, never in an environment others can read.
 * Throws StartError, with none left running, when they cannot listen.
 */
export async function startHttpWorkers(boot: Boot, log: Log): Promise<{ url: string; stop(): Promise<void> }> {
  cluster.setupPrimary({ serialization: 'advanced' })
  let stopping = false
  const start = async (): Promise<string> => {
    const worker = cluster.fork()
    worker.send(boot)
    return readyUrl(worker)
  }
  cluster.on('exit', (worker) => {
    if (stopping) return
    log.error('http_worker_died', { detail: `process ${worker.process.pid}` })
    void start().catch((error: unknown) => log.error('http_worker_failed', { error }))
  })
  const stop = async () => {
    stopping = true
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined && !worker.isDead())
    const gone = workers.map((worker) => new Promise((resolve) => worker!.once('exit', resolve)))
    for (const worker of workers) worker!.process.kill('SIGTERM')
    await Promise.all(gone)
  }
  try {
    // Port 0 is one and the same port for all of them: the cluster picks it once.
    const url = await start()
    await Promise.all(Array.from({ length: boot.config.workers - 1 }, start))
    return { url, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** One of the HTTP processes: answers requests until SIGTERM. Returns the exit code. */
export async function runHttpWorker(): Promise<number> {
  const stopped = new Promise<void>((resolve) => process.once('SIGTERM', () => resolve()))
  // The terminal sends SIGINT to every process of the group; the first one decides.
  process.on('SIGINT', () => {})
  const boot = await new Promise<Boot>((resolve) => process.once('message', (message) => resolve(message as Boot)))
  const app = await openService(boot, openLog(boot.config.log_level), 'none')
  const { host, port } = boot.config
  try {
    const ready = await app.listen({ host, port })
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
  await app.close()
  process.disconnect?.()
  return 0
}

function readyUrl(worker: Worker): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('an HTTP process did not start in time')), READY_SECONDS * 1000)
    worker.once('message', (message: FromWorker) => {
      clearTimeout(timer)
      if ('ready' in message) resolve(message.ready)
      else reject(new StartError(message.refused))
    })
    worker.once('exit', () => {
      clearTimeout(timer)
      reject(new Error('an HTTP process ended while it started'))
    })
  })
}
