import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Kysely } from 'kysely'
import { ANY_AGE, type BlobMark, type Blobs } from '../platform/blobs/blobs.ts'
import type { Database, Db } from '../platform/db/db.ts'
import { newId } from '../platform/ids.ts'
import { StartError } from '../platform/start-error.ts'
import { lowerFirst } from '../platform/text.ts'
import {
  findInstallation,
  type InstallationRow,
  insertInstallation,
  isUnused,
  lockPairing,
  namesBlobs,
  updateInstallation,
} from './store/installation.ts'

/** Returns those of `keys` that a row still refers to. Every feature that stores blobs has one. */
export type KnownBlobs = (keys: readonly string[]) => Promise<ReadonlySet<string>>

/** The database and the blobs that a service is about to use. */
export type Pair = {
  db: Db
  blobs: Blobs
  /** The directory of `first-run.json`. */
  data_dir: string
  known: readonly KnownBlobs[]
  /** How messages name the database. */
  database: string
}

/**
 * Rejects a database and blobs that do not belong together, before either is changed: rows would refer to missing files, and the orphan
 * sweep would remove files whose rows are in another database. Throws StartError with the remedy.
 * Source: docs/reliability.md, Database and files.
 */
export async function requireSameInstallation(pair: Pair): Promise<void> {
  const [row, mark] = await Promise.all([findInstallation(pair.db), pair.blobs.mark()])
  const refusal = row ? refusalOfPaired(pair, row, mark) : await refusalOfUnpaired(pair, mark)
  if (!refusal && mark?.partial && !pair.blobs.also_reads) throw new StartError(PARTIAL)
  if (refusal) throw new StartError(refusal)
}

/**
 * Gives database and blobs the same id, or completes a pairing that a crash or a move interrupted. Call it after
 * `requireSameInstallation`, on a migrated database. The blobs are marked first and confirmed last: a crash in between is detected.
 * Returns the id. Nodes that share the blobs do it one after another, on a second connection of the pool: what is written to the database
 * has to be committed before the blobs are confirmed.
 */
export async function pairInstallation({ db, blobs }: { db: Kysely<Database>; blobs: Blobs }): Promise<string> {
  return db.transaction().execute(async (tx) => {
    await lockPairing(tx)
    return pair(db, blobs)
  })
}

/** Whether the blobs belong to this database: checked again before a blob without a row is removed. */
export async function isSameInstallation(db: Db, blobs: Blobs): Promise<boolean> {
  const [row, mark] = await Promise.all([findInstallation(db), blobs.mark()])
  return row !== null && mark !== null && row.id === mark.installation_id
}

/** Declares that the two belong together, whatever their ids: after a restored backup or a lost disk. */
export async function adoptInstallation(db: Db, blobs: Blobs): Promise<string> {
  const id = newId('installation')
  await blobs.setMark({ installation_id: id, paired: false })
  await insertInstallation(db, { id })
  await updateInstallation(db, { id, moved_from: null, moved_to: null })
  await blobs.setMark({ installation_id: id, paired: true })
  return id
}

async function pair(db: Db, blobs: Blobs): Promise<string> {
  const found = await findInstallation(db)
  const row = found ?? (await pairFirst(db, blobs))
  if (row.moved_to !== null) {
    // From now on the copy is out of date, so the files must not match its id.
    const renamed = { id: newId('installation'), moved_from: row.id, moved_to: null }
    await updateInstallation(db, renamed)
    return confirm(db, blobs, renamed)
  }
  return confirm(db, blobs, row)
}

async function pairFirst(db: Db, blobs: Blobs): Promise<InstallationRow> {
  const mark = (await blobs.mark()) ?? { installation_id: newId('installation'), paired: false }
  await blobs.setMark(mark)
  await insertInstallation(db, { id: mark.installation_id })
  return (await findInstallation(db))!
}

/** Another service may have paired the database in the meantime: then the blobs here have another id. */
async function confirm(db: Db, blobs: Blobs, { id, moved_from }: InstallationRow): Promise<string> {
  const mark = await blobs.mark()
  if (!mark || (mark.installation_id !== id && mark.installation_id !== moved_from)) {
    throw new StartError(
      'Another service has just begun to use this database with other files than this one. The nodes of a database share one bucket.',
    )
  }
  // Two storages keep in their marks which of them has everything, so these are written at each start.
  if (mark.installation_id !== id || !mark.paired || blobs.also_reads)
    await blobs.setMark({ installation_id: id, paired: true })
  if (moved_from !== null) await updateInstallation(db, { moved_from: null })
  return id
}

function refusalOfPaired({ database, data_dir }: Pair, row: InstallationRow, mark: BlobMark | null): string | null {
  if (!mark) {
    if (existsSync(join(data_dir, RESTORED))) return RESTORED_COPY
    return (
      `${database} belongs to another data directory or bucket: the files here have never been used with it. ` +
      'Start with the files it has always had: name its data directory with --data-dir or its bucket in storage, or copy the whole of ' +
      `its blobs directory here. To move the files, name where they are now in storage.also_read: docs/operating/buckets.md, Moving files. ${ADOPT}`
    )
  }
  if (mark.installation_id === row.id || mark.installation_id === row.moved_from) return null
  if (mark.installation_id === row.moved_to) {
    return `${database} was moved, and the service has been started on the copy since. Start it with the DATABASE_URL it was moved to.`
  }
  return `${otherDatabase(database)} ${ADOPT}`
}

async function refusalOfUnpaired(pair: Pair, mark: BlobMark | null): Promise<string | null> {
  const { db, blobs, data_dir, known, database } = pair
  const unused = await isUnused(db)
  if (mark?.paired) return `${otherDatabase(database)} ${unused ? MOVE : ADOPT}`
  if (!unused) {
    const fits = (await anyBlob(blobs)) ? await anyKnownBlob(blobs, known) : !(await namesBlobs(db))
    return fits ? null : `${otherDatabase(database)} ${ADOPT}`
  }
  if (await anyBlob(blobs)) return `${otherDatabase(database)} ${MOVE}`
  if (!existsSync(join(data_dir, 'first-run.json'))) return null
  return `${otherDatabase(database)} ${MOVE} To begin afresh, name a new data directory with --data-dir.`
}

/** In a data directory that was restored from a backup: what and when. */
export const RESTORED = 'restored.json'
const RESTORED_COPY =
  'This is a copy restored from a backup. Started beside the original, both would render the jobs that were running at that time. ' +
  "If the original no longer runs, run 'kinora admin database adopt' and start the copy."

const MOVE =
  "To carry everything over to that database, unset DATABASE_URL again, stop the service and run 'kinora admin database move'."
const ADOPT =
  "If you know that the two belong together, after restoring a backup for instance, run 'kinora admin database adopt'."

const PARTIAL =
  "Not all files are in this storage. Name the one that they were being moved from in storage.also_read, and let 'kinora admin blobs move' " +
  `finish. ${ADOPT}`

function otherDatabase(database: string): string {
  return (
    `The files of this data directory belong to another database than ${lowerFirst(database)}. ` +
    'Start with the DATABASE_URL they have been used with (none for the embedded database), or with the data directory of that database.'
  )
}

const BATCH = 500

async function anyBlob(blobs: Blobs): Promise<boolean> {
  for await (const _ of blobs.list({ older_than: ANY_AGE })) return true
  return false
}

async function anyKnownBlob(blobs: Blobs, known: readonly KnownBlobs[]): Promise<boolean> {
  let keys: string[] = []
  const ask = async () => (await Promise.all(known.map((each) => each(keys)))).some((found) => found.size > 0)
  for await (const { key } of blobs.list({ older_than: ANY_AGE })) {
    if (keys.push(key) < BATCH) continue
    if (await ask()) return true
    keys = []
  }
  return keys.length > 0 && ask()
}
