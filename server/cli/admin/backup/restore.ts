import { createReadStream } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import type { StorageConfig } from '../../../config/storage.ts'
import { adoptInstallation, RESTORED } from '../../../files/installation.ts'
import { openStorage, requireReachable } from '../../../files/open-blobs.ts'
import { findInstallation, insertInstallation, isUnused } from '../../../files/store/installation.ts'
import { endAtCopy } from '../../../operations/store-incidents.ts'
import type { Blobs } from '../../../platform/blobs/blobs.ts'
import { type DataDir, openDataDir, restoringMark } from '../../../platform/data-dir.ts'
import { fileToRows } from '../../../platform/db/copy/table-file.ts'
import { countRows, setSequences, tablesInOrder } from '../../../platform/db/copy/tables.ts'
import { copyToFile } from '../../../platform/db/copy/written-file.ts'
import { MIGRATIONS_DIR, migrate, readMigrations, requireSameHistory } from '../../../platform/db/migrate.ts'
import { failpoint } from '../../../platform/failpoint.ts'
import { newId } from '../../../platform/ids.ts'
import { requireSafeServer } from '../../database.ts'
import { CommandError } from '../command.ts'
import { brokenInvariants, type Side, withSide } from '../move.ts'
import { blobFile, eachBlob, isIntact, syncTree } from './files.ts'
import { BLOBS, type Manifest, readManifest, secretFiles } from './manifest.ts'

/**
 * A whole backup, every byte of it as it was written, that this version can restore. Throws CommandError that names the first part which is
 * not, or StartError for one of a newer version or of a build before 0.1.0.
 */
export async function verifyBackup(dir: string): Promise<Manifest> {
  const manifest = await readManifest(dir)
  requireSameHistory(readMigrations(MIGRATIONS_DIR), manifest.migrations, 'The backup')
  const { tables, blobs } = manifest
  for (const part of [...tables, blobs.list, ...secretFiles(manifest)])
    if (!(await isIntact(join(dir, part.file), part))) throw damaged(dir, part.file)
  const missing = new Set(blobs.missing)
  await eachBlob(join(dir, blobs.list.file), async (blob) => {
    if (missing.has(blob.key)) return
    const path = blobFile(dir, blob.key)
    if (!(await isIntact(path, blob))) throw damaged(dir, path)
  })
  return manifest
}

export type RestoreOptions = {
  from: string
  data_dir: string
  storage: StorageConfig
  /** Null: the data directory's own. */
  database_url: string | null
  /** Also declares that the original no longer runs, so that the copy starts. */
  adopt: boolean
  /** After an error, called with each thing outside of the data directory that was written, and with what to do before the next attempt. */
  on_left?: (note: string) => void
}

export type Restored = { manifest: Manifest; database: string }

/**
 * Makes a data directory, and its database or an empty external one, from a backup whose every byte was verified before anything is changed.
 * Until it is whole, no service starts on the directory; after an error it is empty again, but an external database and a bucket are not:
 * `on_left`. Throws CommandError or StartError, or BlobsAway.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  await requireEmpty(options.data_dir)
  const manifest = await verifyBackup(options.from)
  await mkdir(options.data_dir, { recursive: true, mode: 0o700 })
  const dir = openDataDir(options.data_dir)
  const left: string[] = []
  try {
    await writeFile(restoringMark(dir.path), '', { mode: 0o600, flush: true })
    const database = await withSide(options.database_url, dir, (side) => fill(options, manifest, { dir, side, left }))
    await syncTree(dir.path, [BLOBS])
    failpoint('restore_before_end')
    await rm(restoringMark(dir.path))
    await syncTree(dir.path, [])
    dir.release()
    return { manifest, database }
  } catch (error) {
    dir.release()
    await empty(dir.path).catch(({ message }: Error) => left.push(`${dir.path} could not be emptied (${message}).`))
    for (const note of left) options.on_left?.(note)
    throw error
  }
}

/** What the root of a file system has by itself. */
const OF_FILE_SYSTEM = 'lost+found'

async function empty(path: string): Promise<void> {
  for (const name of await readdir(path))
    if (name !== OF_FILE_SYSTEM) await rm(join(path, name), { recursive: true, force: true })
}

function damaged(dir: string, part: string): CommandError {
  return new CommandError(`The backup ${dir} is damaged: ${part} is not as it was written. Use another backup.`)
}

async function requireEmpty(data_dir: string): Promise<void> {
  const found = await readdir(data_dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  if (found.every((name) => name === OF_FILE_SYSTEM)) return
  throw new CommandError(`The data directory ${data_dir} is not empty. Name a new one with --data-dir.`)
}

/** Adds to `left` before it writes what an error would leave. */
async function fill(
  options: RestoreOptions,
  manifest: Manifest,
  { dir, side, left }: { dir: DataDir; side: Side; left: string[] },
): Promise<string> {
  const blobs = openStorage(options.storage, { blobs_dir: dir.blobs })
  await requireReachable(blobs)
  if (await blobs.mark())
    throw new CommandError('The bucket of storage has the files of an installation. Name another bucket or prefix.')
  await requireSafeServer(side.pool)
  if (!(await isUnused(side.db)) || (await findInstallation(side.db)))
    throw new CommandError(`${side.name} is not empty. Name an empty database.`)
  if (!side.embedded) left.push(leftIn(side))
  await migrate(side.pool, MIGRATIONS_DIR, { up_to: manifest.migrations.at(-1)!.number })
  // Before the first row: no service starts on a database whose files are not its own.
  await insertInstallation(side.db, { id: newId('installation') })
  await loadRows(options.from, manifest, side.pool)
  failpoint('restore_rows_loaded')
  await migrate(side.pool)
  await endAtCopy(side.db, new Date(manifest.taken_at))
  await side.pool.query('analyze')
  if (options.storage.kind === 's3') left.push(leftInBucket(options.storage))
  await restoreBlobs(options.from, manifest, blobs)
  for (const { file } of secretFiles(manifest))
    await copyToFile(createReadStream(join(options.from, file)), join(dir.path, file))
  const broken = await brokenInvariants(side.db, new Date(manifest.taken_at))
  if (broken) throw new CommandError(`The restored database does not pass the audit (${broken}). Use another backup.`)
  const restored = { installation_id: manifest.installation_id, taken_at: manifest.taken_at, by: manifest.kinora }
  await writeFile(join(dir.path, RESTORED), `${JSON.stringify(restored)}\n`, { mode: 0o600, flush: true })
  if (options.adopt) await adoptInstallation(side.db, blobs)
  return side.name
}

function leftIn({ name }: Side): string {
  return (
    `${name} has tables of this restore: before you try again, create it again, or empty it ` +
    "with 'drop schema public cascade; create schema public'."
  )
}

function leftInBucket({ bucket, prefix }: StorageConfig & { kind: 's3' }): string {
  return (
    `s3://${bucket}/${prefix} has files of this restore: before you try again, remove the objects whose names begin with ${prefix}blobs/, ` +
    `and ${prefix}installation.json if it is there, or name another prefix.`
  )
}

/** All rows in one transaction, or none. */
async function loadRows(from: string, { tables, sequences }: Manifest, pool: pg.Pool): Promise<void> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('begin; set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0')
    const known = await tablesInOrder(client)
    for (const name of known) {
      const part = tables.find(({ table }) => table === name)
      if (!part) continue
      // Triggers of ours watch what changes; these rows have been through them. Foreign keys are checked all the same.
      await client.query(`alter table public."${name}" disable trigger user`)
      const columns = part.columns.map((column) => `"${column}"`).join(', ')
      await fileToRows(client, `public."${name}" (${columns})`, join(from, part.file))
      await client.query(`alter table public."${name}" enable trigger user`)
      const rows = await countRows(client, `public."${name}"`)
      if (rows !== part.rows)
        throw new CommandError(`Of ${part.rows} rows of ${name} ${rows} arrived. Use another backup.`)
    }
    const unknown = tables.filter(({ table }) => !known.includes(table)).map(({ table }) => table)
    if (unknown.length > 0)
      throw new CommandError(`The backup has tables that this version does not: ${unknown.join(', ')}.`)
    await setSequences(client, sequences)
    await client.query('commit')
  } catch (error) {
    broken = error as Error
    throw error
  } finally {
    client.release(broken ?? true)
  }
}

async function restoreBlobs(from: string, { blobs }: Manifest, into: Blobs): Promise<void> {
  const missing = new Set(blobs.missing)
  await eachBlob(join(from, blobs.list.file), async ({ key, sha256, size_bytes }) => {
    if (missing.has(key)) return
    const staged = await into.stage(createReadStream(blobFile(from, key)), { max_bytes: size_bytes })
    if (staged.sha256 !== sha256) {
      await into.discard(staged)
      throw damaged(from, key)
    }
    await into.publish(staged, key)
  })
}
