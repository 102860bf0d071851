import cluster from 'node:cluster'
import { closeSync, openSync } from 'node:fs'
import type { App } from '../app.ts'
import { measureService, processMetrics } from '../assembly/metrics.ts'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { engineMistakes } from '../engines/registry.ts'
import type { FirstRun } from '../identity/people/first-run.ts'
import { stayJoined } from '../nodes/join.ts'
import { rereadSecret } from '../nodes/secret.ts'
import type { NewNode } from '../nodes/store.ts'
import { startupListener } from '../platform/http/startup-listener.ts'
import { type Log, type OpenLog, openLog } from '../platform/log.ts'
import { growWithRequests } from '../platform/start/memory.ts'
import { openWithStops } from '../platform/start/stops.ts'
import { type NodeReload, openNodeReload } from '../reload/node.ts'
import type { Boot } from './boot.ts'
import { describeFlags, type Flags, parseFlags, rejectArguments, UsageError } from './flags.ts'
import { onSignals } from './interrupt.ts'
import { openNode, rejoin, requireSharedRole, withSecrets } from './open-node.ts'
import type { HttpProcesses, startHttpProcesses } from './workers/start.ts'

const FLAGS = {
  host: { value: '<address>', help: 'To listen on; KINORA_HOST, else 127.0.0.1' },
  port: { value: '<number>', help: '0 picks a free one; KINORA_PORT, else 8080' },
  'data-dir': { value: '<path>', help: 'Database, files and secret; KINORA_DATA_DIR, else .kinora' },
  config: { value: '<path>', help: 'kinora.yaml; KINORA_CONFIG, else none' },
  workers: { value: '<number>', help: 'Processes; KINORA_WORKERS, else 1' },
  role: { value: '<role>', help: 'api, worker or all: what this node does; KINORA_ROLE, else all' },
  help: { help: 'Show this' },
} as const satisfies Flags

const USAGE = `kinora serve [flags]

Runs the service: API, console and background work. Without DATABASE_URL it runs its own PostgreSQL under the data directory.

${describeFlags(FLAGS)}

Settings without a flag or variable come from the file: host, port, data_dir, workers, role.
`

export type Serving = {
  url: string
  /** Null: metrics are not served. */
  metrics_url: string | null
  first_run: FirstRun | null
  /** Resolves when others have taken the database: this node must stop. */
  taken: Promise<void>
  /** Has every process of this node take up its configuration again, if `read` was given. */
  reload(): Promise<unknown>
  stop(): Promise<void>
  /** Cuts short the time in which a stopping node still answers. */
  skipDrain(): void
}

/** `kinora serve`: runs until SIGINT or SIGTERM. Returns the exit code. */
export async function runServe(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  if (cluster.isWorker) return (await import('./workers/run.ts')).runHttpProcess()
  const given = readFlags(args)
  if (!given) return 2
  if (given.help) {
    process.stdout.write(USAGE)
    return 0
  }
  const { help: _, 'data-dir': data_dir, ...flags } = given
  return serveUntilStopped(() => loadConfig({ ...flags, data_dir }, env, engineMistakes))
}

/**
 * Serves until SIGINT or SIGTERM, and prints the address once it answers; reads its configuration again on SIGHUP. A second signal ends the
 * time in which a stopping node still answers, a third one the process. Returns the exit code: 1 when others have taken the database.
 */
export async function serveUntilStopped(read: () => Config): Promise<number> {
  const config = read()
  const log = openLog(config.log_level)
  const { first, second } = onSignals()
  let serving: Serving | null = null
  let isReloadDue = false
  const reload = () => {
    isReloadDue = serving === null
    serving?.reload().catch((error: unknown) => log.error('reload_failed', { error }))
  }
  const isTerminal = process.stdin.isTTY
  process.on('SIGHUP', () => {
    if (isTerminal && isTerminalGone()) process.kill(process.pid, 'SIGTERM')
    else reload()
  })
  serving = await serve(config, log, { read, signal: first }).catch((error: unknown) => {
    // Before the message for which this is the reason.
    log.flush()
    if (first.aborted && (error as Error).name === 'AbortError') return null
    throw error
  })
  if (!serving) return 0
  if (isReloadDue) reload()
  log.flush()
  if (serving.first_run) printFirstRun(serving.first_run, config)
  process.stdout.write(`kinora ready on ${serving.url}\n`)
  const taken = serving.taken.then(() => 1)
  const code = await Promise.race([taken, aborted(first).then(() => 0)])
  log.info('stopping')
  if (code === 0) void aborted(second).then(serving.skipDrain)
  else serving.skipDrain()
  await serving.stop()
  return code
}

/** The same signal says that a terminal was closed: what was started in it ends with it. */
function isTerminalGone(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return false
  } catch {
    return true
  }
}

/**
 * Starts everything the configuration asks for and resolves once it answers. `read` reads it again, to reload it; `signal` ends a start that
 * waits.
 */
export async function serve(
  config: Config,
  log: ServeLog,
  { read = () => config, signal = new AbortController().signal }: { read?: () => Config; signal?: AbortSignal } = {},
): Promise<Serving> {
  requireSharedRole(config)
  return openWithStops(log, (stops) => start(config, { log, stops, read, signal }))
}

type ServeLog = Log & Partial<OpenLog>
type Start = { log: ServeLog; stops: AsyncDisposableStack; read: () => Config; signal: AbortSignal }

async function start(config: Config, { log, stops, read, signal }: Start): Promise<Serving> {
  const early = stops.adopt(startupListener({ host: config.host, port: config.port }), ({ close }) => close())
  const skip = new AbortController()
  const taken = Promise.withResolvers<void>()
  const { node, database, settings } = await openNode(config, log, {
    meanwhile: readService,
    waiting: { signal, answer: early.answer },
    on_taken: taken.resolve,
  })
  stops.defer(database.stop)
  const [{ makeFirstRun, openService }, { warnAtStart }] = await readService()
  const { data_dir, url: database_url } = database
  const boot: Boot = { ...settings, database_url, blobs_dir: data_dir.blobs, work_dir: data_dir.work, node_id: node.id }
  const drain = { seconds: 0, skip: skip.signal }
  const app = await openService(boot, log, { background: backgroundOf(config), signal })
  // Metrics are served until the service is closed, so that a drain is seen.
  let metrics: { url: string; close(): Promise<void> } | null = null
  stops.defer(async () => metrics?.close())
  stops.defer(() => app.close(drain))
  stops.defer(stayJoined(app.ctx.db, node, app.ctx.log).stop)
  if (config.metrics) {
    measureService(app.ctx)
    metrics = await (await readMetrics()).serveMetrics(config.metrics, app.ctx.metrics, app.ctx.log)
  }
  const restarts = processMetrics(app.ctx.metrics).restarts.of()
  const http = config.workers > 1 ? await startProcesses(boot, { log, restarts, freePort: early.close }) : null
  if (http) stops.defer(() => http.stop(skip.signal))
  else await early.close()
  const url = http?.url ?? (await app.listen({ host: config.host, port: config.port }))
  if (http) app.reachAt(http.url)
  warnAtStart(app.ctx, log)
  const first_run = config.role === 'worker' ? null : await makeFirstRun(app, config, data_dir.path)
  await app.startBackground()
  growWithRequests()
  const reloading = await openReload(app, { log, node, read, data_dir: data_dir.path, http })
  stops.defer(reloading.close)
  if (!http) drain.seconds = config.drain_seconds
  return {
    url,
    metrics_url: metrics?.url ?? null,
    first_run,
    taken: taken.promise,
    reload: reloading.reload,
    stop: () => stops.disposeAsync(),
    skipDrain: () => skip.abort(),
  }
}

type Reloaded = { log: ServeLog; node: NewNode; read: () => Config; data_dir: string; http: HttpProcesses | null }

/** Has the node and all its processes take up another configuration when that is asked for. */
function openReload(app: App, { log, node, read, data_dir, http }: Reloaded): Promise<NodeReload> {
  return openNodeReload({
    node_id: node.id,
    ctx: app.ctx,
    read() {
      const next = read()
      return withSecrets(next, rereadSecret(next.secret, data_dir), data_dir)
    },
    changedBy: app.changedBy,
    rejoin: (next) => rejoin(app.ctx.db, node, next),
    prepare(next) {
      const { apply, discard } = app.prepareReload(next)
      const applyWithLevel = () => {
        apply()
        log.setLevel?.(next.config.log_level)
      }
      return { apply: applyWithLevel, discard }
    },
    ...(http && { others: http.pids, applyToOthers: http.reload }),
  })
}

/** What of the background work is done by the first process of a node. */
function backgroundOf({ role, workers, database_url }: Config): 'sole' | 'shared' | 'none' {
  if (role === 'api' || (role === 'worker' && workers > 1)) return 'none'
  return database_url === null ? 'sole' : 'shared'
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** The modules of the service itself, half of all: read while PostgreSQL starts. */
const readService = () => Promise.all([import('./boot.ts'), import('./start-warnings.ts')])

const startProcesses: typeof startHttpProcesses = async (...given) =>
  (await import('./workers/start.ts')).startHttpProcesses(...given)

const readMetrics = () => import('../platform/metrics/serve.ts')

function readFlags(args: string[]): ReturnType<typeof parseFlags<typeof FLAGS>>['given'] | null {
  try {
    const { given, positionals } = parseFlags(
      args.map((each) => (each === '-h' ? '--help' : each)),
      FLAGS,
    )
    rejectArguments(args, positionals)
    return given
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`kinora serve: ${error.message}\n\n${USAGE}`)
    return null
  }
}

function printFirstRun(run: FirstRun, config: Config): void {
  process.stdout.write(
    [
      'First run: this is shown once and kept in first-run.json in the data directory.',
      `  email     ${run.email}`,
      `  password  ${run.password}`,
      `  api key   ${run.api_key}`,
      `  data      ${config.data_dir}`,
      '',
    ].join('\n'),
  )
}
