import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type Serving, serve } from '../../../server/cli/serve.ts'
import { loadConfig } from '../../../server/config/load.ts'
import { engineMistakes } from '../../../server/engines/registry.ts'
import { type Log, silentLog } from '../../../server/platform/log.ts'
import { postgresServer } from './postgres.ts'
import { prepareDatabase } from './prepared.ts'

export type TestDir = ReturnType<typeof dataDir>

/** A data directory that services can be started on, one after another. */
export function dataDir() {
  const path = mkdtempSync(join(tmpdir(), 'kinora-data-'))
  const running: Array<() => Promise<void>> = []
  const files = () =>
    readdirSync(join(path, 'blobs'), { recursive: true, withFileTypes: true }).filter(
      (entry) => entry.isFile() && /^[0-9a-f]{32}$/.test(entry.name) && !entry.parentPath.endsWith('staging'),
    )
  return {
    path,
    /** Gives it the database that a first start would make. */
    prepare: () => prepareDatabase(join(path, 'postgres')),
    /** The whole service of `kinora serve`, on a free port and the directory's own database unless `env` names another. */
    async serve(env: NodeJS.ProcessEnv = {}, log: Log = silentLog): Promise<Serving> {
      const config = loadConfig({ host: '127.0.0.1', port: '0', data_dir: path }, env, engineMistakes)
      const { stop, ...serving } = await serve(config, log)
      let stopped: Promise<void> | null = null
      const once = () => (stopped ??= stop())
      running.push(once)
      return { ...serving, stop: once }
    },
    /** Keys of the published blobs. */
    blobs: () => files().map(({ name }) => name),
    /** Lets every blob look `days` old to a sweep. */
    age(days: number) {
      const then = new Date(Date.now() - days * 86_400_000)
      for (const { parentPath, name } of files()) utimesSync(join(parentPath, name), then, then)
    },
    firstRun: (): { base_url: string; email: string; password: string; organization_id: string; api_key: string } =>
      JSON.parse(readFileSync(join(path, 'first-run.json'), 'utf8')),
    /** Stops what still runs on it, and takes it away. */
    async remove() {
      for (const stop of running) await stop()
      rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    },
  }
}

/** A database with nothing in it on the run's server, as an operator makes one for Kinora. */
export async function emptyDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const server = await postgresServer()
  const name = `kinora_empty_${Math.random().toString(36).slice(2, 12)}`
  const run = async (sql: string) => {
    const client = new pg.Client({ connectionString: server })
    await client.connect()
    await client.query(sql).finally(() => client.end())
  }
  await run(`create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => run(`drop database ${name} with (force)`) }
}
