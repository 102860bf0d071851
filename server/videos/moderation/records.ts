import { createHmac } from 'node:crypto'
import type { JSONColumnType } from 'kysely'
import type { Db } from '../../platform/db.ts'
import { newId } from '../../platform/ids.ts'
import type { ModerationNote } from '../job.ts'

type ModerationRecordRow = Omit<ModerationNote, 'unjudged'> & {
  unjudged: JSONColumnType<ModerationNote['unjudged']>
  id: string
  job_id: string
  org_id: string
  user_id: string
  created_at: Date
}

declare module '../../platform/db.ts' {
  interface Database {
    moderation_records: ModerationRecordRow
  }
}

/** Stands for a text where the text itself may not be kept. Keyed, so that a short prompt cannot be guessed from it. */
export function textDigest(secret: string, text: string): string {
  return createHmac('sha256', `moderation-record:${secret}`).update(text).digest('hex')
}

/** Keeps that, and how, a submission was moderated. Outlives the job; holds no prompt. */
export async function insertRecord(
  tx: Db,
  record: ModerationNote & { job_id: string; org_id: string; user_id: string },
  now: Date,
): Promise<void> {
  await tx
    .insertInto('moderation_records')
    .values({ ...record, unjudged: JSON.stringify(record.unjudged), id: newId('record', now), created_at: now })
    .execute()
}

/**
 * Whether exactly this text, by its digest under any secret, was allowed for the job, and each of these files either judged whole or knowingly let through by an allowed
 * record of the job.
 */
export async function wasAllowed(
  db: Db,
  job_id: string,
  wanted: { text_digests: readonly string[]; file_sha256s: readonly string[] },
): Promise<boolean> {
  const records = await db
    .selectFrom('moderation_records')
    .select(['text_digest', 'file_sha256s', 'unjudged'])
    .where('job_id', '=', job_id)
    .where('verdict', '=', 'allow')
    .execute()
  const files = new Set(
    records.flatMap(({ file_sha256s, unjudged }) => [
      ...file_sha256s,
      ...unjudged.map(({ file_sha256 }) => file_sha256),
    ]),
  )
  return (
    records.some(({ text_digest }) => wanted.text_digests.includes(text_digest)) &&
    wanted.file_sha256s.every((hash) => files.has(hash))
  )
}

/** Deletes up to `limit` records made at or before `before`; returns how many. */
export async function deleteRecordsUntil(db: Db, before: Date, limit: number): Promise<number> {
  const old = db.selectFrom('moderation_records').select('id').where('created_at', '<=', before).limit(limit)
  const result = await db.deleteFrom('moderation_records').where('id', 'in', old).executeTakeFirst()
  return Number(result.numDeletedRows)
}
