import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/db/db.ts'

/** `records`: webhook events with their deliveries and attempts, and moderation records, which outlive what they are about. */
const KINDS = ['files', 'videos', 'responses', 'records'] as const

/** A difference of what an organization stores. Triggers on the tables of each kind write them: migrations 0006, 0007, 0012 and 0014. */
type StoredBytesTable = { org_id: string; kind: (typeof KINDS)[number]; bytes: bigint }

declare module '../../platform/db/db.ts' {
  interface Database {
    stored_bytes: StoredBytesTable
  }
}

/** Bytes that an organization stores, by kind. */
type StoredBytes = Record<(typeof KINDS)[number], number>

export async function findStoredBytes(db: Db, org_id: string): Promise<StoredBytes> {
  const { rows } = await sql<{ kind: (typeof KINDS)[number]; bytes: bigint }>`
    select kind, sum(bytes)::bigint as bytes from stored_bytes where org_id = ${org_id} group by kind`.execute(db)
  const stored = { files: 0, videos: 0, responses: 0, records: 0 }
  for (const { kind, bytes } of rows) stored[kind] = Number(bytes)
  return stored
}

/** Until the transaction ends, no other one that asks for this adds to what the organization stores. */
export async function lockStorage(tx: Tx, org_id: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`storage ${org_id}`}, 0))`.execute(tx)
}

/** Replaces the differences of each organization by their sum. Writers only add rows, so nobody waits for it. */
export async function mergeStoredBytes(db: Db): Promise<void> {
  await sql`
    with several as (
      select org_id, kind from stored_bytes group by org_id, kind having count(*) > 1
    ), taken as (
      delete from stored_bytes s using several where s.org_id = several.org_id and s.kind = several.kind
      returning s.org_id, s.kind, s.bytes
    )
    insert into stored_bytes select org_id, kind, sum(bytes)::bigint from taken group by org_id, kind having sum(bytes) <> 0`.execute(
    db,
  )
}
