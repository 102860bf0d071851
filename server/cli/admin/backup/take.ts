import { readFile, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import type pg from 'pg'
import { NAMED_BLOBS } from '../../../assembly/background.ts'
import type { Config } from '../../../config/config.ts'
import { type Blobs, isLost } from '../../../platform/blobs/blobs.ts'
import { databaseClientOptions, newClient } from '../../../platform/db/client-options.ts'
import { lockBlobs } from '../../../platform/db/copy/backup-lock.ts'
import { rowsToFile } from '../../../platform/db/copy/table-file.ts'
import { columnsOf, countRows, readSequences, tablesInOrder } from '../../../platform/db/copy/tables.ts'
import { copyToFile } from '../../../platform/db/copy/written-file.ts'
import { appliedMigrations, MIGRATIONS_DIR, readMigrations, requireSameHistory } from '../../../platform/db/migrate.ts'
import { failpoint } from '../../../platform/failpoint.ts'
import { CommandError } from '../command.ts'
import { blobFile, directories, eachBlob, syncTree } from './files.ts'
import { BLOB_LIST, BLOBS, FORMAT, type Manifest, PREVIOUS_SECRETS, SECRET, writeManifest } from './manifest.ts'

export type BackupOptions = {
  url: string
  blobs: Blobs
  /** Where the blobs are, in words. */
  storage_name: string
  /** Where the file `secret` is copied from; null: it stays out. */
  data_dir: string | null
  /** A directory that does not exist. */
  out: string
  kinora: string
  /** Blobs that rows name and that cannot be read are listed instead of being an error. */
  incomplete: boolean
}

/** What a restored copy makes for itself, and the nodes that run on the original. */
const NOT_COPIED: readonly string[] = ['schema_migrations', 'installation', 'nodes', 'process_states', 'workers']

/**
 * Copies database and blobs into the new directory `out`, beside a running service: the rows of one snapshot, then every blob that those
 * rows name. It appears under its name only when it is whole. Throws CommandError or StartError.
 */
export async function takeBackup(options: BackupOptions): Promise<Manifest> {
  const draft = `${resolve(options.out)}.partial`
  const makeDir = directories()
  const client = newClient({
    ...databaseClientOptions(options.url),
    application_name: 'kinora backup',
    keepAlive: true,
  })
  const connection: Connection = { lost: null }
  client.on('error', (error) => (connection.lost = error))
  await client.connect()
  // What lies between may drop a connection that says nothing while files are copied.
  const pings = setInterval(() => client.query('select 1').catch(() => {}), PING_SECONDS * 1000)
  try {
    await lockBlobs(client)
    await rm(draft, { recursive: true, force: true })
    await makeDir(join(draft, 'database'))
    const database = await copyRows(client, draft)
    failpoint('backup_rows_copied')
    const blobs = await copyBlobs(options, { dir: draft, makeDir, connection })
    await client.query('select 1')
    const manifest = {
      format: FORMAT,
      kinora: options.kinora,
      ...database,
      blobs: { ...database.blobs, ...blobs },
      ...(await copySecrets(options, draft)),
    }
    await writeManifest(draft, manifest)
    await publish(draft, resolve(options.out), blobs.prefixes)
    return manifest
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error
  } finally {
    clearInterval(pings)
    await client.end().catch(() => {})
  }
}

/** A connection that was lost no longer keeps the blobs where they are. */
type Connection = { lost: Error | null }
const PING_SECONDS = 30

type Copied = Pick<Manifest, 'postgres' | 'taken_at' | 'installation_id' | 'migrations' | 'tables' | 'sequences'> & {
  blobs: Pick<Manifest['blobs'], 'list'>
}

async function copyRows(client: pg.Client, dir: string): Promise<Copied> {
  const names = await tablesInOrder(client)
  await client.query('set statement_timeout = 0; set lock_timeout = 0; set idle_session_timeout = 0')
  await client.query(
    'begin isolation level repeatable read read only; set local idle_in_transaction_session_timeout = 0',
  )
  // Before the snapshot: a migration that rewrote a table after it would leave it empty here.
  await client.query(`lock table ${names.map((table) => `public."${table}"`).join(', ')} in access share mode`)
  const migrations = await appliedMigrations(client)
  requireThisSchema(migrations)
  const { rows } = await client.query<Pick<Manifest, 'postgres' | 'taken_at' | 'installation_id'>>(
    `select current_setting('server_version') as postgres, (select id from installation) as installation_id,
            to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as taken_at`,
  )
  const tables: Manifest['tables'] = []
  for (const table of names.filter((each) => !NOT_COPIED.includes(each)))
    tables.push(await copyTable(client, table, dir))
  const sequences = await readSequences(client)
  const list = await rowsToFile(client, `(${NAMED_BLOBS.join(' union all ')})`, {
    path: join(dir, BLOB_LIST),
    gzip: false,
  })
  await client.query('commit')
  return { ...rows[0]!, migrations, tables, sequences, blobs: { list: { file: BLOB_LIST, ...list } } }
}

/** The names of blobs are asked of tables as this version knows them. */
function requireThisSchema(applied: Manifest['migrations']): void {
  const files = readMigrations(MIGRATIONS_DIR)
  requireSameHistory(files, applied)
  if (applied.length === files.length) return
  throw new CommandError(
    `The database has not been migrated to this version yet: it has ${applied.at(-1)?.name ?? 'no migration'}. Take the backup with the version that serves it.`,
  )
}

async function copyTable(client: pg.Client, table: string, dir: string): Promise<Manifest['tables'][number]> {
  const columns = (await columnsOf(client, `public."${table}"`)).split(', ')
  const file = `database/${table}.copy.gz`
  const written = await rowsToFile(client, `(select ${columns.join(', ')} from public."${table}")`, {
    path: join(dir, file),
    gzip: true,
  })
  return {
    table,
    columns: columns.map((name) => name.replaceAll('"', '')),
    rows: await countRows(client, `public."${table}"`),
    file,
    ...written,
  }
}

async function copyBlobs(
  { blobs, storage_name, incomplete }: BackupOptions,
  { dir, makeDir, connection }: { dir: string; makeDir: ReturnType<typeof directories>; connection: Connection },
) {
  const missing: string[] = []
  const prefixes = new Set<string>()
  let [count, size_bytes] = [0, 0]
  await makeDir(join(dir, BLOBS))
  await eachBlob(join(dir, BLOB_LIST), async (named) => {
    if (connection.lost) throw connection.lost
    const path = blobFile(dir, named.key)
    prefixes.add(join(BLOBS, named.key.slice(0, 2)))
    await makeDir(dirname(path))
    const copied = await copyUnlessLost(blobs, named.key, path)
    if (copied?.sha256 === named.sha256 && copied.size_bytes === named.size_bytes) {
      count += 1
      size_bytes += copied.size_bytes
      return
    }
    await rm(path, { force: true })
    missing.push(named.key)
  })
  if (missing.length > 0 && !incomplete) throw lossOf(missing, storage_name)
  return { count, size_bytes, missing, prefixes }
}

/** Null for a blob that is missing, or of which the bucket has other bytes than were written. */
async function copyUnlessLost(blobs: Blobs, key: string, path: string) {
  try {
    return await copyToFile(await blobs.open(key), path)
  } catch (error) {
    if (isLost(error)) return null
    throw error
  }
}

function lossOf(missing: readonly string[], storage_name: string): CommandError {
  return new CommandError(
    `${missing.length} of the files that the database names are missing or damaged in ${storage_name}, ${missing.slice(0, 3).join(', ')} among them. ` +
      'If the service keeps its files elsewhere, give this command its configuration (--config or KINORA_CONFIG). ' +
      'Otherwise put them back from an earlier backup, or take this one without them: --incomplete.',
  )
}

/** With those before it, which what was encrypted before a rotation still needs. */
async function copySecrets(
  { data_dir }: BackupOptions,
  dir: string,
): Promise<Pick<Manifest, 'secret' | 'previous_secrets'>> {
  if (data_dir === null) return { secret: null }
  const previous = await copyIfThere(data_dir, dir, PREVIOUS_SECRETS)
  return { secret: await copyIfThere(data_dir, dir, SECRET), ...(previous && { previous_secrets: previous }) }
}

async function copyIfThere(from: string, to: string, file: string): Promise<Manifest['secret']> {
  const text = await readFile(join(from, file)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  return text && { file, ...(await copyToFile(Readable.from([text]), join(to, file))) }
}

async function publish(draft: string, out: string, prefixes: Iterable<string>): Promise<void> {
  await syncTree(draft, ['database', ...prefixes, BLOBS])
  failpoint('backup_before_rename')
  await rename(draft, out).catch((error: Error) => {
    throw new CommandError(`The backup cannot be named ${out}: ${error.message}`)
  })
  await syncTree(out, [])
}

/** Where `config` has the secret as a file: none with KINORA_SECRET. */
export function secretHome(config: Pick<Config, 'secret' | 'data_dir'>): string | null {
  return config.secret === null ? config.data_dir : null
}
