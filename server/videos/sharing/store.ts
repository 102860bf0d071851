import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/db/db.ts'
import type { VideoJobRow } from '../store.ts'

export type ShareLinkRow = {
  id: string
  org_id: string
  video_id: string
  /** Lower-case hex; the token itself is not stored. */
  token_sha256: string
  /** The last four characters of the token. */
  hint: string
  download: boolean
  created_at: Date
  expires_at: Date
}

declare module '../../platform/db/db.ts' {
  interface Database {
    share_links: ShareLinkRow
  }
}

/** Locks a job against further links until the transaction ends. Null when the organization has none with this id. */
export async function lockJob(tx: Tx, org_id: string, id: string): Promise<VideoJobRow | null> {
  const row = await tx
    .selectFrom('video_jobs')
    .selectAll()
    .where('org_id', '=', org_id)
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return (row as VideoJobRow | undefined) ?? null
}

export async function insertShareLink(tx: Tx, row: ShareLinkRow): Promise<void> {
  await tx.insertInto('share_links').values(row).execute()
}

/** Links of a job that have not ended, the newest first. */
export async function listLiveLinks(
  db: Db,
  { org_id, video_id, now }: { org_id: string; video_id: string; now: Date },
): Promise<ShareLinkRow[]> {
  return db
    .selectFrom('share_links')
    .selectAll()
    .where('org_id', '=', org_id)
    .where('video_id', '=', video_id)
    .where('expires_at', '>', now)
    .orderBy('id', 'desc')
    .execute()
}

export async function findShareLink(tx: Tx, org_id: string, id: string): Promise<ShareLinkRow | null> {
  const row = await tx
    .selectFrom('share_links')
    .selectAll()
    .where('org_id', '=', org_id)
    .where('id', '=', id)
    .executeTakeFirst()
  return row ?? null
}

/** Whether there was one. */
export async function deleteShareLink(tx: Tx, org_id: string, id: string): Promise<boolean> {
  const deleted = await tx
    .deleteFrom('share_links')
    .where('org_id', '=', org_id)
    .where('id', '=', id)
    .executeTakeFirst()
  return deleted.numDeletedRows === 1n
}

export type SharedClip = { job: VideoJobRow; download: boolean; expires_at: Date }

/** The clip that a token shows now, to whoever has it; null for a token that is unknown or has ended. */
export async function findSharedClip(
  db: Db,
  { token_sha256, now }: { token_sha256: string; now: Date },
): Promise<SharedClip | null> {
  const result = await sql<VideoJobRow & Omit<SharedClip, 'job'>>`
    select j.*, l.download, l.expires_at
    from share_links l join video_jobs j on j.id = l.video_id and j.org_id = l.org_id
    where l.token_sha256 = ${token_sha256} and l.expires_at > ${now}`.execute(db)
  const row = result.rows[0]
  if (!row) return null
  const { download, expires_at, ...job } = row
  return { job, download, expires_at }
}

/** Deletes up to `limit` links that have ended, and returns how many. */
export async function deleteLinksEndedBy(db: Db, now: Date, limit: number): Promise<number> {
  const result = await sql`
    delete from share_links where id in (
      select id from share_links where expires_at <= ${now} order by expires_at limit ${limit} for update skip locked)`.execute(
    db,
  )
  return Number(result.numAffectedRows)
}
