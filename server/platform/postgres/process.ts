import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartError } from '../start-error.ts'
import { withTimeout } from '../timeout.ts'
import type { Programs } from './programs.ts'
import { SOCKET_PORT } from './socket.ts'
import type { RunAs } from './user.ts'

/** A running server. `exited` settles once, when its main process is gone. */
export type Postmaster = { pid: number; adopted: boolean; exited: Promise<void> }

export type Cluster = { path: string; programs: Programs; run_as: RunAs; log_file: string }

/** Operators cannot change these. Little memory, few processes, every commit on disk. */
const SETTINGS = {
  listen_addresses: '',
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
  port: String(SOCKET_PORT),
  max_connections: '100',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '512MB',
  shared_buffers: '64MB',
  huge_pages: 'off',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '0',
  max_logical_replication_workers: '0',
  autovacuum_naptime: '15s',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // Errors quote statements and rows, and those contain prompts: only messages of the server itself are logged.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
}

/** Size at which the server log is rotated, at a start. */
const LOG_BYTES_MAX = 8 * 1024 * 1024

/** Makes an empty cluster. It appears at `cluster.path` only when complete, so that a killed initdb leaves no partial cluster. */
export async function initCluster(cluster: Cluster, makeDir: (path: string) => void): Promise<void> {
  const temp = `${cluster.path}.new`
  rmSync(temp, { recursive: true, force: true })
  makeDir(temp)
  const locale =
    Number.parseInt(cluster.programs.version, 10) >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []
  const args = [
    '--username=kinora',
    '--auth-local=trust',
    '--auth-host=reject',
    '--encoding=UTF8',
    '--locale=C',
    ...locale,
  ]
  const child = run({ ...cluster, path: temp }, 'initdb', args, 'pipe')
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk: Buffer) => (output += chunk))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new StartError(`PostgreSQL could not create its data directory:\n${output.trim()}`)
  renameSync(temp, cluster.path)
}

/** The server that is running on the cluster now, whoever started it; null when there is none. */
export function findPostmaster(cluster: string): { pid: number; status: string } | null {
  const lines = pidFile(cluster)
  const pid = Number(lines[0])
  return pid > 0 && worksIn(pid, cluster) ? { pid, status: lines[7]?.trim() ?? 'starting' } : null
}

/**
 * Starts a server and waits until it answers, however long recovery takes. Call it only when none is running: any lock
 * files are stale, even if their process id now belongs to another process or to a zombie that was never reaped.
 */
export async function launch(cluster: Cluster): Promise<Postmaster> {
  killOrphans(cluster.path)
  for (const name of ['postmaster.pid', `.s.PGSQL.${SOCKET_PORT}.lock`])
    rmSync(join(cluster.path, name), { force: true })
  const log = openLog(cluster.log_file)
  const args = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = run(cluster, 'postgres', args, log)
  closeSync(log)
  let gone = false
  const exited = once(child, 'exit').then(noteExit, noteExit)
  function noteExit(): void {
    gone = true
  }
  while (!gone && !isReady(cluster.path, child.pid)) await sleep(5)
  if (gone) throw new StartError(`PostgreSQL did not start; ${cluster.log_file} ends with:\n${tail(cluster.log_file)}`)
  child.unref()
  return { pid: child.pid!, adopted: false, exited }
}

/** Adopts a server that another process started, once it answers. Null when it exits instead. */
export async function adopt(cluster: string): Promise<Postmaster | null> {
  for (;;) {
    const found = findPostmaster(cluster)
    if (!found) return null
    if (found.status === 'ready') return { pid: found.pid, adopted: true, exited: goneFrom(found.pid, cluster) }
    await sleep(10)
  }
}

/** Fast shutdown (clients are disconnected, nothing is lost), forced after 30 seconds. */
export async function shutDown(postmaster: Postmaster): Promise<void> {
  for (const [signal, seconds] of [
    ['SIGINT', 30],
    ['SIGQUIT', 5],
    ['SIGKILL', 5],
  ] as const) {
    signalTo(postmaster.pid, signal)
    const exited = postmaster.exited.then(() => true)
    if (await withTimeout(seconds * 1000, exited, () => false)) return
  }
}

/**
 * As another user, the server is started with its data directory as the working directory: that user needs no access to the path,
 * so the data directory stays private to the service. It has its own session, so that Ctrl-C reaches only the service.
 */
function run(cluster: Cluster, program: string, args: string[], output: number | 'pipe'): ChildProcess {
  const dir = cluster.run_as && process.platform === 'linux' ? '/proc/self/cwd' : cluster.path
  return spawn(join(cluster.programs.bin, program), ['-D', dir, ...args], {
    cwd: cluster.path,
    env: { PATH: process.env.PATH ?? '', LC_ALL: 'C' },
    stdio: ['ignore', output, output],
    detached: true,
    ...cluster.run_as,
  })
}

function pidFile(cluster: string): string[] {
  try {
    return readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
  } catch {
    return []
  }
}

function isReady(cluster: string, pid: number | undefined): boolean {
  const lines = pidFile(cluster)
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
}

/** Whether `pid` is running and belongs to this cluster: process ids are reused, especially in a restarted container. */
function worksIn(pid: number, cluster: string): boolean {
  try {
    if (process.platform === 'linux') return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(cluster)
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** There is no exit event for a process that is not a child: polls often enough to keep an outage short. */
async function goneFrom(pid: number, cluster: string): Promise<void> {
  while (worksIn(pid, cluster)) await sleep(100, undefined, { ref: false })
}

/** Backends briefly outlive a killed main process and keep its shared memory attached; a new server refuses to start meanwhile. */
function killOrphans(cluster: string): void {
  if (process.platform !== 'linux') return
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (pid > 0 && pid !== process.pid && isPostgres(pid) && worksIn(pid, cluster)) signalTo(pid, 'SIGKILL')
  }
}

function isPostgres(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'postgres'
  } catch {
    return false
  }
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {}
}

function openLog(file: string): number {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size > LOG_BYTES_MAX) renameSync(file, join(dirname(file), 'log.1'))
  return openSync(file, 'a', 0o600)
}

function tail(file: string): string {
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-8).join('\n')
}
