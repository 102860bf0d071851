import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Kysely } from 'kysely'
import type pg from 'pg'
import { type Database, openDb } from '../../server/platform/db/db.ts'
import { runningPostgresUrl } from '../../server/platform/postgres/embedded.ts'
import { spawnNode } from './child.ts'
import { childrenOf } from './cpu.ts'

/** The real service in a process of its own, on a fresh data directory with its own PostgreSQL. */
export type BenchService = {
  url: string
  dir: string
  /** Of the Node process. */
  pid: number
  /** Of the database's main process. */
  postgres_pid: number
  api_key: string
  org_id: string
  user_id: string
  db: Kysely<Database>
  pool: pg.Pool
  stop(): Promise<void>
}

const MAIN = join(import.meta.dirname, '..', '..', 'server', 'main.ts')

/** An engine that answers at once, and limits that are never reached, so that only the service is measured. */
export const BENCH_CONFIG = `
plans:
  bench: { max_concurrent_renders: 100000 }
video_models:
  - { id: instant-1, engine: instant, per_second: "0.010000" }
first_run: { balance: "100000000.00" }
limits: { pipeline_concurrency: 256 }
`

/** `node`: options for Node itself. `pinned`: Node and PostgreSQL on the cores of the subject, else on all. */
type LaunchOptions = { node?: string[]; pinned?: boolean }

/** Starts `kinora serve` and has its owner agree to the terms. */
export async function startService(
  options: LaunchOptions & { config?: string; dir?: string } = {},
): Promise<BenchService> {
  const dir = options.dir ?? newDir()
  writeFileSync(join(dir, 'kinora.yaml'), options.config ?? BENCH_CONFIG)
  const { child, url } = await launch(dir, options)
  const run = JSON.parse(readFileSync(join(dir, 'data', 'first-run.json'), 'utf8')) as FirstRun
  const { db, pool, close } = openDb(runningPostgresUrl(join(dir, 'data', 'postgres'))!, { pool_max: 4 })
  await pool.query(
    `insert into video_acceptances (org_id, user_id, terms_version, session_id, accepted_at)
     values ($1, $2, '2026-11-01', 'bench', now() - interval '60 days') on conflict do nothing`,
    [run.organization_id, run.user_id],
  )
  return {
    url,
    dir,
    pid: child.pid!,
    postgres_pid: postmasterOf(dir),
    db,
    pool,
    api_key: run.api_key,
    org_id: run.organization_id,
    user_id: run.user_id,
    async stop() {
      await close()
      await end(child)
      if (!options.dir) rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    },
  }
}

/** An empty directory below the system's temporary directory. */
export function newDir(): string {
  return mkdtempSync(join(tmpdir(), 'kinora-bench-'))
}

/** Starts the service on `dir` and resolves when it says that it is ready. */
export async function launch(
  dir: string,
  { node = [], pinned = false }: LaunchOptions = {},
): Promise<{ child: ChildProcess; url: string; output: string }> {
  const args = [
    ...node,
    MAIN,
    'serve',
    '--port',
    '0',
    '--data-dir',
    join(dir, 'data'),
    '--config',
    join(dir, 'kinora.yaml'),
  ]
  // The shipped level, into a file as under systemd: the access log is part of what a request costs.
  const env = { ...process.env, KINORA_LOG_LEVEL: 'info' }
  const log = join(dir, 'service.log')
  const stderr = openSync(log, 'a')
  const child = spawnNode(args, pinned ? 'subject' : null, { env, cwd: dir, stderr })
  closeSync(stderr)
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}: ${output}${lastOf(log)}`)))
    child.stdout!.on('data', (chunk) => {
      output += chunk
      const ready = /kinora ready on (\S+)/.exec(output)
      if (ready) resolve(ready[1]!)
    })
  })
  return { child, url, output }
}

function lastOf(file: string): string {
  return readFileSync(file, 'utf8').slice(-2000)
}

/** Headers of a caller with the service's first key. */
export function caller(service: Pick<BenchService, 'api_key'>): Record<string, string> {
  return { authorization: `Bearer ${service.api_key}`, 'content-type': 'application/json' }
}

/** A clean stop; resolves when the process is gone. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}

/** The main process of the database under `dir`. */
export function postmasterOf(dir: string): number {
  return Number(readFileSync(join(dir, 'data', 'postgres', 'cluster', 'postmaster.pid'), 'utf8').split('\n', 1)[0])
}

type FirstRun = { organization_id: string; user_id: string; api_key: string }

/** The processes that answer requests: the first one, unless it has started others for that. */
export function httpProcesses({ pid, postgres_pid }: Pick<BenchService, 'pid' | 'postgres_pid'>): number[] {
  const workers = childrenOf(pid).filter((child) => child !== postgres_pid)
  return workers.length > 0 ? workers : [pid]
}
