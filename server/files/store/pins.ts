import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/db/db.ts'
import type { StoredFile } from './files.ts'

type FilePinsTable = Omit<StoredFile, 'id'> & { holder: string; file_id: string; released_at: Date | null }

declare module '../../platform/db/db.ts' {
  interface Database {
    file_pins: FilePinsTable
  }
}

/**
 * Keeps what engines are sent of the organization's files for `holder`, a job that is about to be submitted, whatever becomes of the
 * files. False when one of them is gone and was not pinned before. Call it inside the transaction that writes the intent; roll that back on false.
 */
export async function pinFiles(
  tx: Tx,
  pins: { holder: string; org_id: string; ids: readonly string[]; now: Date },
): Promise<boolean> {
  const { holder, org_id, now } = pins
  const ids = [...new Set(pins.ids)]
  if (ids.length === 0) return true
  // The share lock makes a deletion either wait, and then see the pin, or come first, and then there is no file to pin.
  await sql`
    insert into file_pins (holder, file_id, org_id, filename, media_type, size_bytes, sha256, blob_key)
    select ${holder}, id, org_id, filename, coalesce(engine_copy->>'media_type', media_type),
           coalesce((engine_copy->>'size_bytes')::int, size_bytes), coalesce(engine_copy->>'sha256', sha256),
           coalesce(engine_copy->>'blob_key', blob_key)
    from files
    where org_id = ${org_id} and id = any(${ids}) and expires_at > ${now}
    for share
    on conflict (holder, file_id) do update set released_at = null`.execute(tx)
  return (await findPinnedFiles(tx, { holder, ids })).size === ids.length
}

/** Those of `ids` that are pinned for `holder`, whether there still is such a file or not. */
export async function findPinnedFiles(
  db: Db,
  wanted: { holder: string; ids: readonly string[] },
): Promise<Map<string, StoredFile>> {
  if (wanted.ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('file_pins')
    .select(['file_id as id', 'org_id', 'filename', 'media_type', 'size_bytes', 'sha256', 'blob_key'])
    .where('holder', '=', wanted.holder)
    .where('file_id', 'in', [...new Set(wanted.ids)])
    .where('released_at', 'is', null)
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

/** Ends the pins of `holders`: files can no longer be read by them, and a sweep removes bytes that nothing else needs. */
export async function releasePins(tx: Db, { holders, now }: { holders: readonly string[]; now: Date }): Promise<void> {
  if (holders.length === 0) return
  await tx
    .updateTable('file_pins')
    .set({ released_at: now })
    .where('holder', 'in', holders)
    .where('released_at', 'is', null)
    .execute()
}

/** Deletes at most `limit` released pins and returns their blobs. Safe to run from several processes at once. */
export async function deleteReleasedPins(db: Db, limit: number): Promise<string[]> {
  const { rows } = await sql<{ blob_key: string }>`
    delete from file_pins where (holder, file_id) in (
      select holder, file_id from file_pins where released_at is not null order by released_at limit ${limit} for update skip locked
    ) returning blob_key`.execute(db)
  return rows.map((row) => row.blob_key)
}
