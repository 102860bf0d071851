import cluster from 'node:cluster'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { engineMistakes } from '../engines/registry.ts'
import type { FirstRun } from '../identity/people/first-run.ts'
import { type Log, openLog } from '../platform/log.ts'
import { growWithRequests } from '../platform/start/memory.ts'
import type { Boot } from './boot.ts'
import { openDatabase } from './database.ts'
import { describeFlags, type Flags, parseFlags, UsageError } from './flags.ts'
import { loadSecret } from './secret.ts'

const FLAGS = {
  host: { value: '<address>', help: 'To listen on; KINORA_HOST, else 127.0.0.1' },
  port: { value: '<number>', help: '0 picks a free one; KINORA_PORT, else 8080' },
  'data-dir': { value: '<path>', help: 'Database, files and secret; KINORA_DATA_DIR, else .kinora' },
  config: { value: '<path>', help: 'kinora.yaml; KINORA_CONFIG, else none' },
  workers: { value: '<number>', help: 'HTTP processes; KINORA_WORKERS, else 1' },
  help: { help: 'Show this' },
} as const satisfies Flags

const USAGE = `kinora serve [flags]

Runs the service: API, console and background work. Without DATABASE_URL it runs its own PostgreSQL under the data directory.

${describeFlags(FLAGS)}

Settings without a flag or variable come from the file: host, port, data_dir, workers.
`

/** `metrics_url` null: metrics are not served. */
export type Serving = { url: string; metrics_url: string | null; first_run: FirstRun | null; stop(): Promise<void> }

/** `kinora serve`: runs until SIGINT or SIGTERM. Returns the exit code. */
export async function runServe(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  if (cluster.isWorker) return (await import('./workers.ts')).runHttpWorker()
  const given = readFlags(args)
  if (!given) return 2
  if (given.help) {
    process.stdout.write(USAGE)
    return 0
  }
  const { help: _, 'data-dir': data_dir, ...flags } = given
  return serveUntilStopped(loadConfig({ ...flags, data_dir }, env, engineMistakes))
}

/** Serves until SIGINT or SIGTERM, and prints the address once it answers. Returns the exit code. */
export async function serveUntilStopped(config: Config): Promise<number> {
  const log = openLog(config.log_level)
  const stopped = new Promise<void>((resolve) =>
    process.once('SIGINT', () => resolve()).once('SIGTERM', () => resolve()),
  )
  const serving = await serve(config, log)
  if (serving.first_run) printFirstRun(serving.first_run, config)
  process.stdout.write(`kinora ready on ${serving.url}\n`)
  await stopped
  log.info('stopping')
  await serving.stop()
  return 0
}

/** Starts everything the configuration asks for and resolves once it answers. */
export async function serve(config: Config, log: Log): Promise<Serving> {
  const database = await openDatabase(config, log, readService)
  const [{ makeFirstRun, openService }, { warnAtStart }] = await readService()
  const stops: Array<() => Promise<void>> = [database.stop]
  const stop = async () => {
    for (const each of stops.splice(0).reverse()) await each()
  }
  try {
    const { data_dir, url: database_url } = database
    const boot: Boot = {
      config,
      database_url,
      secret: loadSecret(config.secret, data_dir.path),
      blobs_dir: data_dir.blobs,
      work_dir: data_dir.work,
    }
    const app = await openService(boot, log, config.database_url === null ? 'sole' : 'shared')
    stops.push(app.close)
    const metrics =
      config.metrics &&
      (await (await import('../platform/metrics/serve.ts')).serveMetrics(config.metrics, app.ctx.metrics, log))
    if (metrics) stops.push(metrics.close)
    const http = config.workers > 1 ? await (await import('./workers.ts')).startHttpWorkers(boot, log) : null
    if (http) stops.push(http.stop)
    const url = http?.url ?? (await app.listen({ host: config.host, port: config.port }))
    if (http) app.reachAt(http.url)
    warnAtStart(app.ctx, log)
    const first_run = await makeFirstRun(app, config, data_dir.path)
    await app.startBackground()
    growWithRequests()
    return { url, metrics_url: metrics?.url ?? null, first_run, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The modules of the service itself, half of all: read while PostgreSQL starts. */
const readService = () => Promise.all([import('./boot.ts'), import('./start-warnings.ts')])

function readFlags(args: string[]): ReturnType<typeof parseFlags<typeof FLAGS>>['given'] | null {
  try {
    const { given, positionals } = parseFlags(
      args.map((each) => (each === '-h' ? '--help' : each)),
      FLAGS,
    )
    if (positionals.length > 0) throw new UsageError(`unexpected argument ${positionals[0]}`)
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
