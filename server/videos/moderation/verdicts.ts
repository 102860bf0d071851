import type { ModerationResult } from '../../engines/moderation/contract.ts'
import type { Db } from '../../platform/db/db.ts'

type VerdictRow = {
  job_id: string
  org_id: string
  digest: string
  categories: string[]
  engine: string
  version: string
  created_at: Date
}

declare module '../../platform/db/db.ts' {
  interface Database {
    moderation_verdicts: VerdictRow
  }
}

type Owner = { id: string; org_id: string }

/** The parts of a job that an earlier try allowed, by digest. */
export async function findAllowed(db: Db, job: Owner): Promise<Map<string, ModerationResult>> {
  const rows = await db
    .selectFrom('moderation_verdicts')
    .select(['digest', 'categories', 'engine', 'version'])
    .where('org_id', '=', job.org_id)
    .where('job_id', '=', job.id)
    .execute()
  return new Map(rows.map(({ digest, ...result }) => [digest, { verdict: 'allow', ...result }]))
}

/** Records that a part was allowed, so that later tries do not ask again. */
export async function keepAllowed(
  db: Db,
  job: Owner,
  { digest, result, now }: { digest: string; result: ModerationResult; now: Date },
): Promise<void> {
  const { categories, engine, version } = result
  await db
    .insertInto('moderation_verdicts')
    .values({ job_id: job.id, org_id: job.org_id, digest, categories, engine, version, created_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Deletes up to `limit` verdicts made at or before `before`; returns how many. */
export async function deleteVerdictsUntil(db: Db, before: Date, limit: number): Promise<number> {
  const old = db
    .selectFrom('moderation_verdicts')
    .select(['job_id', 'digest'])
    .where('created_at', '<=', before)
    .limit(limit)
  const result = await db
    .deleteFrom('moderation_verdicts')
    .where((where) => where(where.refTuple('job_id', 'digest'), 'in', old.$asTuple('job_id', 'digest')))
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}
