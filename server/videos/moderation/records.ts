import { createHmac } from 'node:crypto'
import type { JSONColumnType } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
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

declare module '../../platform/db/db.ts' {
  interface Database {
    moderation_records: ModerationRecordRow
  }
}

/** Stands for a text where the text itself may not be kept. Keyed, so that a short prompt cannot be guessed from it. */
export function textDigest(secret: string, text: string): string {
  return createHmac('sha256', `moderation-record:${secret}`).update(text).digest('hex')
}

/** Keeps that, and how, submissions were moderated. Outlives the jobs; holds no prompt. */
export async function insertRecords(
  tx: Db,
  records: ReadonlyArray<ModerationNote & { job_id: string; org_id: string; user_id: string }>,
  now: Date,
): Promise<void> {
  if (records.length === 0) return
  const rows = records.map((record) => ({
    ...record,
    unjudged: JSON.stringify(record.unjudged),
    id: newId('record', now),
    created_at: now,
  }))
  await tx.insertInto('moderation_records').values(rows).execute()
}

/** What was allowed for a job: its texts, by their digest, and each file either judged whole or knowingly let through. */
export type Allowed = { text_digests: Set<string>; file_sha256s: Set<string> }

/** What was allowed for each of these jobs, by job. One that is missing has no record that allows anything. */
export async function findAllowedOf(db: Db, job_ids: readonly string[]): Promise<Map<string, Allowed>> {
  const records = await db
    .selectFrom('moderation_records')
    .select(['job_id', 'text_digest', 'file_sha256s', 'unjudged'])
    .where('job_id', 'in', job_ids)
    .where('verdict', '=', 'allow')
    .execute()
  const allowed = new Map<string, Allowed>()
  for (const { job_id, text_digest, file_sha256s, unjudged } of records) {
    const of = allowed.get(job_id) ?? { text_digests: new Set(), file_sha256s: new Set() }
    allowed.set(job_id, of)
    of.text_digests.add(text_digest)
    for (const hash of file_sha256s) of.file_sha256s.add(hash)
    for (const { file_sha256 } of unjudged) of.file_sha256s.add(file_sha256)
  }
  return allowed
}

/** Deletes up to `limit` records made at or before `before`; returns how many. */
export async function deleteRecordsUntil(db: Db, before: Date, limit: number): Promise<number> {
  const old = db.selectFrom('moderation_records').select('id').where('created_at', '<=', before).limit(limit)
  const result = await db.deleteFrom('moderation_records').where('id', 'in', old).executeTakeFirst()
  return Number(result.numDeletedRows)
}
