import type { App } from '../../app.ts'
import { type OpenLog, openLog } from '../../platform/log.ts'
import { growWithRequests } from '../../platform/start/memory.ts'
import { openWithStops } from '../../platform/start/stops.ts'
import { StartError } from '../../platform/start-error.ts'
import type { NextSettings } from '../../reload/node.ts'
import { type Boot, openService } from '../boot.ts'
import type { FromHttpProcess, ToHttpProcess } from './messages.ts'

/** One of the processes of `--workers N`: answers requests until SIGTERM. Returns the exit code. */
export async function runHttpProcess(): Promise<number> {
  const skip = new AbortController()
  const stopped = new Promise<void>((resolve) => process.once('SIGTERM', () => resolve()))
  void stopped.then(() => process.once('SIGTERM', () => skip.abort()))
  // The terminal sends SIGINT, and SIGHUP, to every process of the group; the first one decides.
  process.on('SIGINT', () => {}).on('SIGHUP', () => {})
  const opened = Promise.withResolvers<App>()
  const allowed = Promise.withResolvers<void>()
  const log = Promise.withResolvers<OpenLog>()
  process.on('message', (message: ToHttpProcess) => {
    if ('skip' in message) skip.abort()
    if ('listen' in message) allowed.resolve()
    if ('reload' in message) void Promise.all([opened.promise, log.promise]).then((to) => takeUp(to, message.reload))
  })
  const boot = await new Promise<Boot>((resolve) => process.once('message', (message) => resolve(message as Boot)))
  const { drain_seconds, log_level } = boot.config
  log.resolve(openLog(log_level))
  // What is being opened may wait for a database that is away, and holds nothing yet.
  let isOpen = false
  void stopped.then(() => isOpen || process.exit(0))
  const app = await openWithStops(await log.promise, async (stops) => {
    const opening = openService(boot, await log.promise, { background: backgroundOf(boot) })
    const app = stops.adopt(await opening, (each) => each.close())
    isOpen = true
    opened.resolve(app)
    send({ opened: true })
    await allowed.promise
    await answer(app, boot)
    return app
  }).catch((error: unknown) => {
    if (!(error instanceof StartError)) throw error
    send({ refused: error.message }, () => process.disconnect?.())
  })
  if (!app) return 1
  process.once('disconnect', () => process.exit(0))
  await stopped
  await app.close({ seconds: drain_seconds, skip: skip.signal })
  process.disconnect?.()
  return 0
}

function backgroundOf({ config }: Boot): 'shared' | 'none' {
  return config.role === 'worker' ? 'shared' : 'none'
}

async function answer(app: App, { config: { host, port, metrics } }: Boot): Promise<void> {
  const ready = await app.listen({ host, port })
  await app.startBackground()
  growWithRequests()
  if (metrics) (await import('../../platform/metrics/serve.ts')).shareMetrics(app.ctx.metrics)
  send({ ready })
}

function send(message: FromHttpProcess, onSent: () => void = () => {}): void {
  process.send?.(message, onSent)
}

/** A process that cannot take up what the first one has is replaced by one that starts with it. */
function takeUp([app, log]: [App, OpenLog], next: NextSettings): void {
  try {
    app.reload(next)
    log.setLevel(next.config.log_level)
    send({ reloaded: true })
  } catch (error) {
    log.error('reload_failed', { error })
    process.exit(1)
  }
}
