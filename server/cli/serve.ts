import cluster from 'node:cluster'
import { hostname } from 'node:os'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { isShared } from '../config/storage.ts'
import { engineMistakes } from '../engines/registry.ts'
import type { FirstRun } from '../identity/people/first-run.ts'
import { connectionsOf, processesOf } from '../nodes/connections.ts'
import { fingerprintSecrets } from '../nodes/fingerprint.ts'
import { stayJoined } from '../nodes/join.ts'
import { readSecret } from '../nodes/secret.ts'
import type { NewNode } from '../nodes/store.ts'
import { earlyListener } from '../platform/http/early.ts'
import { newId } from '../platform/ids.ts'
import { type Log, openLog } from '../platform/log.ts'
import { growWithRequests } from '../platform/start/memory.ts'
import { productVersion } from '../platform/start/version.ts'
import { StartError } from '../platform/start-error.ts'
import type { Boot } from './boot.ts'
import { type OpenDatabase, type OpenOptions, openDatabase } from './database.ts'
import { describeFlags, type Flags, parseFlags, UsageError } from './flags.ts'
import { onSignals } from './interrupt.ts'

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
  first_run: FirstRun | null
  /** Resolves when others have taken the database: this node must stop. */
  taken: Promise<void>
  stop(): Promise<void>
  /** Cuts short the time in which a stopping node still answers. */
  skipDrain(): void
}

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

/**
 * Serves until SIGINT or SIGTERM, and prints the address once it answers. A second signal ends the time in which a stopping node still
 * answers, a third one the process. Returns the exit code: 1 when others have taken the database.
 */
export async function serveUntilStopped(config: Config): Promise<number> {
  const log = openLog(config.log_level)
  const { first, second } = onSignals()
  const serving = await serve(config, log, first).catch((error: unknown) => {
    if (first.aborted && (error as Error).name === 'AbortError') return null
    throw error
  })
  if (!serving) return 0
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

/** Starts everything the configuration asks for and resolves once it answers. `signal` ends a start that waits. */
export async function serve(
  config: Config,
  log: Log,
  signal: AbortSignal = new AbortController().signal,
): Promise<Serving> {
  requireSharedRole(config)
  const early = earlyListener({ host: config.host, port: config.port })
  const stops: Array<() => Promise<void>> = [early.close]
  const stop = async () => {
    for (const each of stops.splice(0).reverse()) await each()
  }
  const skip = new AbortController()
  const taken = Promise.withResolvers<void>()
  try {
    const { node, database, secret } = await openNode(config, log, {
      waiting: { signal, answer: early.answer },
      on_taken: taken.resolve,
    })
    stops.push(database.stop)
    const [{ makeFirstRun, openService }, { warnAtStart }] = await readService()
    const { data_dir, url: database_url } = database
    const boot: Boot = { config, database_url, secret, blobs_dir: data_dir.blobs, work_dir: data_dir.work }
    const app = await openService(boot, log, backgroundOf(config))
    const drain = { seconds: 0, skip: skip.signal }
    stops.push(() => app.close(drain), stayJoined(app.ctx.db, node, log).stop)
    await early.close()
    const http = config.workers > 1 ? await (await import('./workers.ts')).startHttpWorkers(boot, log) : null
    if (http) stops.push(() => http.stop(skip.signal))
    const url = http?.url ?? (await app.listen({ host: config.host, port: config.port }))
    if (http) app.reachAt(http.url)
    warnAtStart(app.ctx, log)
    const first_run = config.role === 'worker' ? null : await makeFirstRun(app, config, data_dir.path)
    await app.startBackground()
    growWithRequests()
    if (!http) drain.seconds = config.drain_seconds
    return { url, first_run, taken: taken.promise, stop, skipDrain: () => skip.abort() }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Takes the data directory, its secret and the database, as one node of those that run on it. */
async function openNode(
  config: Config,
  log: Log,
  { waiting, on_taken }: Pick<OpenOptions, 'waiting' | 'on_taken'>,
): Promise<{ node: NewNode; database: OpenDatabase; secret: string }> {
  let found: { node: NewNode; secret: string } | undefined
  const database = await openDatabase(config, log, {
    ...{ meanwhile: readService, waiting, on_taken },
    async joining({ path }) {
      const read = readSecret(config.secret, path)
      const { workers, role, public_url } = config
      const node = {
        ...{ id: newId('node'), host_name: hostname(), version: productVersion(), role, public_url },
        ...{ processes: processesOf(workers), connections: connectionsOf({ workers, pool: config.database.pool }) },
        ...(await fingerprintSecrets([read.secret, ...config.previous_secrets])),
      }
      found = { node, secret: read.secret }
      return { node, keep: read.keep }
    },
  })
  return { ...found!, database }
}

/** Throws StartError for a node that would leave its work to others of which there can be none. */
function requireSharedRole({ role, storage, database_url }: Config): void {
  if (role === 'all' || (isShared(storage) && database_url !== null)) return
  throw new StartError(
    `The role ${role} is for one of several nodes, which share a database and a bucket: set DATABASE_URL and storage.kind s3, or leave the role out.`,
  )
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
