import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { runAudit } from '../../server/audit/audit.ts'
import { postgresHome } from '../../server/platform/data-dir.ts'
import { openDb } from '../../server/platform/db/db.ts'
import { runningPostgresUrl } from '../../server/platform/postgres/embedded.ts'
import { SERVER_MAIN } from '../runner/server-bundle.ts'
import { copyPrepared } from '../support/data/prepared.ts'
import { cookieOf } from '../support/http/people.ts'
import { send } from '../support/http/send.ts'
import { type EngineServer, startEngineServer } from '../support/upstream/engine-server/server.ts'

/** What one service that can be killed lives from: a data directory, a configuration, an engine that outlives it. */
export type Site = {
  dir: string
  data_dir: string
  config: string
  engines: EngineServer
  services: Kinora[]
  /** Ends whatever is still running, and takes everything away. */
  close(): Promise<void>
}

export type Kinora = {
  url: string
  process: ChildProcess
  /** Resolves with the exit code, or the name of the signal that ended it. */
  ended: Promise<number | string>
  /** What it said on standard error so far. */
  log(): string
}

/** Of a site that names no other. */
export const MODEL = 'outside-1'
const OUTSIDE = '{ kind: videos-api, dialect: openai, base_url: "{engines}", model: wan }'
const RULES = '{ engine: { kind: rules, deny: [forbidden] } }'

export type SiteOptions = { models?: Readonly<Record<string, string>>; moderation?: string }

/** `models`: the engine of each model by its id; in them and in `moderation`, `{engines}` stands for the address of the engine server. */
export async function openSite({ models = { [MODEL]: OUTSIDE }, moderation = RULES }: SiteOptions = {}): Promise<Site> {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-crash-'))
  const engines = await startEngineServer()
  const config = join(dir, 'kinora.yaml')
  const entries = Object.entries(models).map(
    ([id, engine]) => `  - { id: ${id}, engine: ${engine}, per_second: "0.010000" }`,
  )
  writeFileSync(
    config,
    `plans: { free: { max_concurrent_renders: 100000 } }
first_run: { balance: "1000000.00" }
video_models:
${entries.join('\n')}
moderation: ${moderation}
`.replaceAll('{engines}', engines.url),
  )
  const site = { dir, data_dir: join(dir, 'data'), config, engines, services: [] as Kinora[] }
  await copyData(config, site.data_dir)
  return {
    ...site,
    async close() {
      await connections.get(site.data_dir)?.close()
      connections.delete(site.data_dir)
      for (const service of site.services) await kill(service)
      endDatabase(site)
      await engines.close()
      rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }
}

/** A data directory whose service has run once, with an owner who has agreed to the terms, and has stopped: a first start costs seconds of CPU. */
async function copyData(config: string, data_dir: string): Promise<void> {
  await copyPrepared('served', data_dir, async (prepared) => {
    const site = { data_dir: prepared, config, services: [] }
    const kinora = await start(site)
    await ownerOf(site, kinora)
    assert.equal(await stop(kinora), 0)
  })
}

/** The key of the owner, who has agreed to the terms. */
export function keyOf({ data_dir }: Pick<Site, 'data_dir'>): string {
  return firstRunOf(data_dir).api_key
}

/** Where nothing listens: the port of RFC 863. */
const NOWHERE = 'http://127.0.0.1:9'

/**
 * Starts the real service and resolves once it answers. Throws with what it said when it ends before; but one that is killed at its failpoint
 * by then, at work that it found, has ended as it should.
 */
export async function start(
  site: Pick<Site, 'data_dir' | 'config' | 'services'>,
  options: { failpoint?: string; args?: string[]; env?: NodeJS.ProcessEnv } = {},
): Promise<Kinora> {
  const { DATABASE_URL: _, KINORA_TEST_PG: __, ...inherited } = process.env
  const env = { ...inherited, ...options.env, ...(options.failpoint ? { KINORA_FAILPOINT: options.failpoint } : {}) }
  const args = [
    SERVER_MAIN,
    'serve',
    '--data-dir',
    site.data_dir,
    '--port',
    '0',
    '--config',
    site.config,
    ...(options.args ?? []),
  ]
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const text = { out: '', err: '' }
  child.stderr.on('data', (chunk) => {
    text.err += chunk
  })
  const ended = once(child, 'exit').then(([code, signal]) => (signal ?? code) as number | string)
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      text.out += chunk
      const ready = /kinora ready on (\S+)/.exec(text.out)
      if (ready) resolve(ready[1]!)
    })
    void ended.then((code) => {
      if (options.failpoint && code === 'SIGKILL') resolve(NOWHERE)
      else reject(new Error(`ended with ${code}: ${text.err.slice(-2000)}`))
    })
  })
  const kinora = { url, process: child, ended, log: () => text.err }
  site.services.push(kinora)
  return kinora
}

/** SIGKILL, as when the machine's memory ran out; resolves when it is dead. */
export async function kill(kinora: Kinora): Promise<void> {
  kinora.process.kill('SIGKILL')
  await kinora.ended
}

export async function stop(kinora: Kinora): Promise<number | string> {
  kinora.process.kill('SIGTERM')
  return kinora.ended
}

/** Has the owner of the first run agree to the terms. */
export async function ownerOf(site: Pick<Site, 'data_dir'>, { url }: { url: string }): Promise<{ key: string }> {
  const run = firstRunOf(site.data_dir)
  const signedIn = await send(
    { url },
    'POST',
    '/console/auth/sign-in/email',
    {},
    { email: run.email, password: run.password },
  )
  const cookie = cookieOf(signedIn)
  const { body } = await send({ url }, 'GET', '/v1/videos/acceptance', { cookie })
  await send({ url }, 'POST', '/v1/videos/acceptance', { cookie }, { terms_version: body.terms_version })
  return { key: run.api_key }
}

function firstRunOf(data_dir: string): { email: string; password: string; api_key: string } {
  return JSON.parse(readFileSync(join(data_dir, 'first-run.json'), 'utf8'))
}

/** Submits one job; null when no answer came. */
export async function submit(
  kinora: { url: string },
  key: string,
  options: { prompt: string; model?: string; idempotency_key?: string },
): Promise<{ status: number; id: string | null } | null> {
  const { prompt, model = MODEL, idempotency_key } = options
  const headers: Record<string, string> = idempotency_key ? { 'idempotency-key': idempotency_key } : {}
  try {
    const { status, body } = await send(
      kinora,
      'POST',
      '/v1/videos',
      { key, headers },
      { model, prompt, seconds: 4, aspect_ratio: '16:9' },
    )
    return { status, id: status === 200 ? body.id : null }
  } catch {
    return null
  }
}

/** Asks the database of a running service. */
export async function query(site: Site, sql: string, values: unknown[] = []): Promise<Array<Record<string, unknown>>> {
  return (await connectionTo(site)).pool.query(sql, values).then(({ rows }) => rows)
}

type Connection = ReturnType<typeof openDb> & { pid: number }

/** One to the database of each site, by its data directory: tests ask many times a second, and to connect costs more than to ask. */
const connections = new Map<string, Connection>()

async function connectionTo(site: Site): Promise<Connection> {
  const url = runningPostgresUrl(postgresHome(site.data_dir))
  if (!url) throw new Error('the database is not running')
  const pid = databasePid(site)
  const known = connections.get(site.data_dir)
  if (known?.pid === pid) return known
  await known?.close()
  const made = { ...openDb(url, { pool_max: 1 }), pid }
  connections.set(site.data_dir, made)
  return made
}

function endDatabase(site: Pick<Site, 'data_dir'>): void {
  try {
    process.kill(databasePid(site), 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

/** The database's main process. */
export function databasePid(site: Pick<Site, 'data_dir'>): number {
  const file = join(postgresHome(site.data_dir), 'cluster', 'postmaster.pid')
  return Number(readFileSync(file, 'utf8').split('\n')[0])
}

/** Resolves once no job is left in flight; throws after a minute. */
export async function drained(site: Site): Promise<void> {
  const until = performance.now() + 60_000
  for (;;) {
    const [row] = await query(
      site,
      "select count(*)::int as n, string_agg(status || ' ' || tries, ', ') as what from video_jobs where finished_at is null",
    )
    if (row!.n === 0) return
    if (performance.now() > until) throw new Error(`still in flight: ${row!.what}`)
    await pause(100)
  }
}

/** The violations that the audit finds beside the service, as text; empty when all is well. */
export async function audit(site: Site): Promise<string> {
  const rows = (await runAudit((await connectionTo(site)).db)).filter(({ violations }) => violations > 0)
  return rows.map(({ invariant, violations }) => `${invariant}: ${violations}`).join(', ')
}

/** Published blobs that no row knows. */
export async function orphans(site: Site): Promise<string[]> {
  const blobs = join(site.data_dir, 'blobs')
  const keys = readdirSync(blobs, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.parentPath !== blobs && !entry.parentPath.endsWith('staging'))
    .map(({ name }) => name)
  const known = new Set(
    (await query(site, 'select unnest(array[blob_key, thumbnail_key, spritesheet_key]) as key from video_jobs')).map(
      ({ key }) => key,
    ),
  )
  return keys.filter((key) => !known.has(key))
}
