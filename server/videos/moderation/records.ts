import { createHmac } from 'node:crypto'
import { type JSONColumnType, sql } from 'kysely'
import { RULES, UNNAMED } from '../../engines/moderation/rules.ts'
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

/** Identifies a text without keeping it. Keyed, so that a short prompt cannot be guessed from it. */
export function textDigest(secret: string, text: string): string {
  return createHmac('sha256', `moderation-record:${secret}`).update(text).digest('hex')
}

/** The categories of the operator's deny list that blocked a prompt, for its owner; null where none of them has a name, or another engine blocked it. */
export function refusedCategories({ verdict, engine, categories }: ModerationNote): string[] | null {
  const named = categories.filter((category) => category !== UNNAMED)
  return verdict === 'block' && engine === RULES && named.length > 0 ? named : null
}

/** Records that, and how, submissions were moderated. The records outlive the jobs and hold no prompt. */
export async function insertRecords(
  tx: Db,
  records: ReadonlyArray<ModerationNote & { job_id: string; org_id: string; user_id: string }>,
  now: Date,
): Promise<void> {
  if (records.length === 0) return
  const rows = records.map((record) => ({ ...record, id: newId('record', now), created_at: now }))
  // One parameter however many rows there are: the statement is parsed and planned in a fraction of the time.
  await sql`-- prepared as insert_moderation_records
    insert into moderation_records (id, job_id, org_id, user_id, stage, verdict, categories, engine, version, text_digest,
                                    file_sha256s, unjudged, created_at)
    select id, job_id, org_id, user_id, stage, verdict, categories, engine, version, text_digest, file_sha256s, unjudged, created_at
    from jsonb_populate_recordset(null::moderation_records, ${JSON.stringify(rows)}::jsonb)`.execute(tx)
}

/** What was allowed for a job: its texts, by digest, and its files, either judged in every part or deliberately let through unjudged. */
export type Allowed = { text_digests: Set<string>; file_sha256s: Set<string> }

/** What was allowed for each of the jobs, by job id. A job that is missing has no record that allows anything. */
export async function findAllowedOf(db: Db, job_ids: readonly string[]): Promise<Map<string, Allowed>> {
  type Found = Pick<ModerationNote, 'text_digest' | 'file_sha256s' | 'unjudged'> & { job_id: string }
  const { rows } = await sql<Found>`
    select job_id, text_digest, file_sha256s, unjudged from moderation_records
    where job_id = any(${job_ids as string[]}::text[]) and verdict = 'allow'`.execute(db)
  const allowed = new Map<string, Allowed>()
  for (const { job_id, text_digest, file_sha256s, unjudged } of rows) {
    const of = allowed.get(job_id) ?? { text_digests: new Set(), file_sha256s: new Set() }
    allowed.set(job_id, of)
    of.text_digests.add(text_digest)
    for (const hash of file_sha256s) of.file_sha256s.add(hash)
    for (const { file_sha256 } of unjudged) of.file_sha256s.add(file_sha256)
  }
  return allowed
}

/** For the operator: how a job was moderated, in order. */
export async function listRecordsOfJob(db: Db, job_id: string) {
  const columns = ['stage', 'verdict', 'categories', 'engine', 'created_at'] as const
  return db.selectFrom('moderation_records').select(columns).where('job_id', '=', job_id).orderBy('id').execute()
}

/** Deletes up to `limit` records made at or before `before`; returns how many. */
export async function deleteRecordsUntil(db: Db, before: Date, limit: number): Promise<number> {
  const old = db.selectFrom('moderation_records').select('id').where('created_at', '<=', before).limit(limit)
  const result = await db.deleteFrom('moderation_records').where('id', 'in', old).executeTakeFirst()
  return Number(result.numDeletedRows)
}
