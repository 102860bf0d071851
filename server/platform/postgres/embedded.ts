import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { StartError } from '../start-error.ts'
import { adopt, type Cluster, findPostmaster, initCluster, launch, type Postmaster, shutDown } from './process.ts'
import { packagedPrograms, programsIn } from './programs.ts'
import { SOCKET_PORT, socketDir, socketUrl } from './socket.ts'
import { chooseUser, makeOwnedDir, sharedUser } from './user.ts'

export type EmbeddedPostgres = {
  /** URL of the database `kinora`. */
  url: string
  socket_dir: string
  port: number
  /** Process id of the postmaster; changes when it is restarted. */
  pid(): number
  /** Whether a server left behind by a killed service was adopted. */
  adopted: boolean
  /** The name of the user that it runs as when other programs do so too; else null. */
  shared_user: string | null
  /** Shuts the server down; resolves when its process has exited. */
  stop(): Promise<void>
}

const DATABASE = 'kinora'

/**
 * Runs the embedded PostgreSQL in `dir`, on a Unix socket only, every commit on disk, and restarts it whenever it exits
 * before `stop`. Adopts a server that a killed service left behind. The caller holds the data directory's lock.
 * `bin` selects the programs of another installation, `native` another copy of the package. `meanwhile` is called when PostgreSQL works
 * and there is nothing to do but wait for it.
 * Throws StartError, with the last lines of the server's log, when it cannot run.
 */
export async function startEmbeddedPostgres(options: {
  dir: string
  log?: (line: string) => void
  bin?: string
  native?: string
  meanwhile?: (() => unknown) | undefined
}): Promise<EmbeddedPostgres> {
  const { log = () => {}, meanwhile } = options
  const cluster = await openCluster(options)
  let server = await bringUp(cluster, meanwhile)
  const { adopted } = server
  let stopping = false

  const supervised = (async () => {
    for (;;) {
      await server.exited
      if (stopping) return
      log('postgres died; starting it again')
      const next = await bringBack(cluster, log, () => stopping)
      if (!next) return
      server = next
      log(`postgres is back, process ${server.pid}`)
    }
  })()

  return {
    url: socketUrl(cluster.path, DATABASE),
    socket_dir: socketDir(cluster.path),
    port: SOCKET_PORT,
    pid: () => server.pid,
    adopted,
    shared_user: sharedUser(cluster.run_as),
    async stop() {
      stopping = true
      await shutDown(server)
      await supervised
    },
  }
}

/** URL of the database of the service that is running on `dir`; null if none is. Does not adopt the server. */
export function runningPostgresUrl(dir: string): string | null {
  const path = clusterPath(dir)
  return findPostmaster(path)?.status === 'ready' ? socketUrl(path, DATABASE) : null
}

/** Whether a database was ever made in `dir`. */
export function hasCluster(dir: string): boolean {
  return existsSync(clusterPath(dir))
}

async function openCluster(options: {
  dir: string
  bin?: string
  native?: string
  meanwhile?: (() => unknown) | undefined
}): Promise<Cluster> {
  const home = resolve(options.dir)
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const path = clusterPath(home)
  const runAs = chooseUser(path)
  const programs = options.bin
    ? programsIn(options.bin, runAs)
    : packagedPrograms({ run_as: runAs, home, ...(options.native ? { native: options.native } : {}) })
  const cluster = { path, programs, run_as: runAs, log_file: join(home, 'log') }
  if (!existsSync(path)) {
    const made = initCluster(cluster, (dir) => makeOwnedDir(dir, runAs))
    options.meanwhile?.()
    await made
  }
  makeOwnedDir(path, runAs)
  requireSameMajor(cluster)
  return cluster
}

async function bringUp(cluster: Cluster, meanwhile?: () => unknown): Promise<Postmaster> {
  const found = await adopt(cluster.path)
  if (!found) {
    const launched = launch(cluster)
    meanwhile?.()
    return prepared(cluster, await launched)
  }
  meanwhile?.()
  const version = await prepare(cluster)
  if (version === cluster.programs.version) return found
  await shutDown(found)
  return prepared(cluster, await launch(cluster))
}

async function bringBack(
  cluster: Cluster,
  log: (line: string) => void,
  isStopping: () => boolean,
): Promise<Postmaster | null> {
  for (let pause = 50; !isStopping(); pause = Math.min(pause * 2, 5000)) {
    try {
      const server = await bringUp(cluster)
      if (!isStopping()) return server
      await shutDown(server)
    } catch (error) {
      log((error as Error).message)
      await sleep(pause)
    }
  }
  return null
}

async function prepared(cluster: Cluster, server: Postmaster): Promise<Postmaster> {
  try {
    await prepare(cluster)
    return server
  } catch (error) {
    await shutDown(server)
    throw error
  }
}

/** Creates the database if it is missing and checks that commits reach the disk. Returns the server's version. */
async function prepare(cluster: Cluster): Promise<string> {
  const client = new pg.Client({ connectionString: socketUrl(cluster.path, 'postgres') })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query<{ fsync: string; version: string; made: boolean }>(
      `select current_setting('fsync') as fsync, current_setting('server_version') as version,
              exists (select from pg_database where datname = '${DATABASE}') as made`,
    )
    const state = rows[0]!
    if (state.fsync !== 'on')
      throw new StartError('The embedded PostgreSQL runs with fsync off: commits would not be safe.')
    if (!state.made) await client.query(`create database ${DATABASE}`)
    return state.version.split(' ')[0]!
  } finally {
    await client.end()
  }
}

function requireSameMajor({ path, programs }: Cluster): void {
  const made = readFileSync(join(path, 'PG_VERSION'), 'utf8').trim()
  if (Number.parseInt(programs.version, 10) === Number.parseInt(made, 10)) return
  const [ours, theirs] = [Number.parseInt(programs.version, 10), Number.parseInt(made, 10)]
  throw new StartError(
    theirs < ours
      ? `The database in ${path} was made by PostgreSQL ${made}, and this version of Kinora runs PostgreSQL ${programs.version}, which cannot read it. Start the version of Kinora that served it, run 'kinora admin backup' there, and restore the backup with this version into a new data directory: kinora admin restore.`
      : `The database in ${path} was made by PostgreSQL ${made}, newer than the ${programs.version} of this version of Kinora. Start the version of Kinora that served it last.`,
  )
}

function clusterPath(home: string): string {
  return join(resolve(home), 'cluster')
}
