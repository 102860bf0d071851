import type { ColumnType, Insertable, JSONColumnType, Selectable } from 'kysely'
import { sql } from 'kysely'
import type { ProbeResult } from '../../media/probe/probe.ts'
import type { Db } from '../../platform/db/db.ts'
import { comparisonOf, type Position } from '../../platform/http/list.ts'
import type { Purpose } from '../purposes.ts'

/** An upload. `expires_at` decides visibility: from that moment on the row is as good as gone, swept or not. */
export type FilesTable = {
  id: string
  org_id: string
  /** Who uploaded it. */
  user_id: string
  purpose: Purpose
  filename: string
  /** Recognized from the bytes; `application/octet-stream` when unknown. */
  media_type: string
  size_bytes: number
  /** Hexadecimal. */
  sha256: string
  blob_key: string
  /** Null for what is not an image: videos and sounds are probed where they are used. */
  probe: JSONColumnType<ProbeResult | null>
  /** What video engines are sent in place of the upload, where that holds more than players show or is shown turned. */
  engine_copy: JSONColumnType<EngineCopy | null>
  created_at: ColumnType<Date, Date, never>
  expires_at: ColumnType<Date, Date, never>
}

/** Bytes made of an upload when it was received; they are kept and removed with it. */
export type EngineCopy = { blob_key: string; media_type: string; size_bytes: number; sha256: string }

/** What it takes to read a file's bytes, and to sign for them. */
export type StoredFile = Pick<
  FileRow,
  'id' | 'org_id' | 'filename' | 'media_type' | 'size_bytes' | 'sha256' | 'blob_key'
>

declare module '../../platform/db/db.ts' {
  interface Database {
    files: FilesTable
  }
}

export type FileRow = Selectable<FilesTable>

export async function insertFile(
  db: Db,
  {
    probe,
    engine_copy = null,
    ...row
  }: Omit<Insertable<FilesTable>, 'probe' | 'engine_copy'> &
    Pick<FileRow, 'probe'> &
    Partial<Pick<FileRow, 'engine_copy'>>,
): Promise<void> {
  const json = (value: unknown) => (value === null ? null : JSON.stringify(value)) as never
  await db
    .insertInto('files')
    .values({ ...row, probe: json(probe), engine_copy: json(engine_copy) })
    .execute()
}

/** A file as video engines are sent it: its engine copy where it has one. */
export function sentFile({ engine_copy, ...file }: FileRow): StoredFile {
  return { ...file, ...engine_copy }
}

/** The organization's file unless it is unknown, another organization's or expired: the three look the same. */
export async function findFile(db: Db, file: { org_id: string; id: string; now: Date }): Promise<FileRow | null> {
  const query = db.selectFrom('files').selectAll().where('org_id', '=', file.org_id).where('id', '=', file.id)
  return (await query.where('expires_at', '>', file.now).executeTakeFirst()) ?? null
}

/** Those of `ids` the organization has and that have not expired, in one query. */
export async function findFiles(
  db: Db,
  wanted: { org_id: string; ids: readonly string[]; now: Date },
): Promise<Map<string, FileRow>> {
  if (wanted.ids.length === 0) return new Map()
  const query = db
    .selectFrom('files')
    .selectAll()
    .where('org_id', '=', wanted.org_id)
    .where('id', 'in', [...new Set(wanted.ids)])
  const rows = await query.where('expires_at', '>', wanted.now).execute()
  return new Map(rows.map((row) => [row.id, row]))
}

/** Who made those of the files that the organization has. */
export async function findFileMakers(
  db: Db,
  { org_id, ids }: { org_id: string; ids: readonly string[] },
): Promise<Array<{ id: string; user_id: string }>> {
  return db.selectFrom('files').select(['id', 'user_id']).where('org_id', '=', org_id).where('id', 'in', ids).execute()
}

/** For signed URLs alone: the caller has no organization, and the signature is checked against the row's own. */
export async function findFileForSignature(db: Db, file: { id: string; now: Date }): Promise<FileRow | null> {
  const query = db.selectFrom('files').selectAll().where('id', '=', file.id).where('expires_at', '>', file.now)
  return (await query.executeTakeFirst()) ?? null
}

export type FilePage = Position & { org_id: string; purpose: Purpose | null; now: Date }

/** One row more than the page holds, so that the caller knows whether another follows. */
export async function listFiles(db: Db, list: FilePage): Promise<FileRow[]> {
  let query = db.selectFrom('files').selectAll().where('org_id', '=', list.org_id).where('expires_at', '>', list.now)
  if (list.purpose !== null) query = query.where('purpose', '=', list.purpose)
  if (list.after !== null) query = query.where('id', comparisonOf(list.order), list.after)
  return query
    .orderBy('id', list.order)
    .limit(list.limit + 1)
    .execute()
}

/** Returns the keys of the blobs to remove; none when there was no such file. */
export async function deleteFile(db: Db, file: { org_id: string; id: string; now: Date }): Promise<string[]> {
  const query = db.deleteFrom('files').where('org_id', '=', file.org_id).where('id', '=', file.id)
  return blobsOf(await query.where('expires_at', '>', file.now).returning(['blob_key', 'engine_copy']).execute())
}

function blobsOf(rows: ReadonlyArray<Pick<FileRow, 'blob_key' | 'engine_copy'>>): string[] {
  return rows.flatMap(({ blob_key, engine_copy }) => (engine_copy ? [blob_key, engine_copy.blob_key] : [blob_key]))
}

/** Deletes at most `limit` rows whose time is over and returns their blobs. Safe to run from several processes at once. */
export async function deleteExpiredFiles(db: Db, options: { now: Date; limit: number }): Promise<string[]> {
  const { rows } = await sql<Pick<FileRow, 'blob_key' | 'engine_copy'>>`
    delete from files where id in (
      select id from files where expires_at <= ${options.now} order by expires_at limit ${options.limit} for update skip locked
    ) returning blob_key, engine_copy`.execute(db)
  return blobsOf(rows)
}

/** Those of `keys` that belong to a file, expired ones included, or are pinned. */
export async function knownFileBlobs(db: Db, keys: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ blob_key: string }>`
    select blob_key from files where blob_key = any(${keys})
    union select engine_copy->>'blob_key' from files where engine_copy->>'blob_key' = any(${keys})
    union select blob_key from file_pins where blob_key = any(${keys})`.execute(db)
  return new Set(rows.map((row) => row.blob_key))
}

/** Every blob that a file or a pin names, once. */
export const NAMED_FILE_BLOBS = `
  select blob_key as key, sha256, size_bytes from files
  union select engine_copy->>'blob_key', engine_copy->>'sha256', (engine_copy->>'size_bytes')::int from files where engine_copy is not null
  union select blob_key, sha256, size_bytes from file_pins`
