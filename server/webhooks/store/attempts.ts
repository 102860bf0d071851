import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/db/db.ts'

/** One attempt of a delivery, and what was answered. */
export type AttemptRow = {
  delivery_id: string
  /** From 1, over all schedules of the delivery. */
  number: number
  org_id: string
  sent_at: Date
  /** Not the whole URL, which may hold a secret and outlive its endpoint here. */
  origin: string
  status_code: number | null
  error: string | null
  response_headers: Record<string, string> | null
  response_body: string | null
}

declare module '../../platform/db/db.ts' {
  interface Database {
    delivery_attempts: AttemptRow
  }
}

/** Attempts kept of a delivery: one schedule. */
const KEPT = 10

/** Records attempts, and removes those of the same deliveries that are older than the last ten. */
export async function insertAttempts(tx: Tx, rows: readonly AttemptRow[]): Promise<void> {
  if (rows.length === 0) return
  const column = <Name extends keyof AttemptRow>(name: Name) => rows.map((row) => row[name])
  const headers = rows.map(({ response_headers }) => response_headers && JSON.stringify(response_headers))
  await sql`
    insert into delivery_attempts
    select delivery_id, number, org_id, sent_at, origin, status_code, error, response_headers::json, response_body
    from unnest(${column('delivery_id')}::text[], ${column('number')}::int[], ${column('org_id')}::text[],
      ${column('sent_at')}::timestamptz[], ${column('origin')}::text[], ${column('status_code')}::int[], ${column('error')}::text[],
      ${headers}::text[], ${column('response_body')}::text[])
      as given (delivery_id, number, org_id, sent_at, origin, status_code, error, response_headers, response_body)`.execute(
    tx,
  )
  const many = rows.filter(({ number }) => number > KEPT)
  if (many.length === 0) return
  await sql`
    delete from delivery_attempts a
    using unnest(${many.map(({ delivery_id }) => delivery_id)}::text[], ${many.map(({ number }) => number)}::int[]) as given (delivery_id, number)
    where a.delivery_id = given.delivery_id and a.number <= given.number - ${KEPT}`.execute(tx)
}

/** The newest first. */
export async function listAttempts(db: Db, org_id: string, delivery_id: string): Promise<AttemptRow[]> {
  return db
    .selectFrom('delivery_attempts')
    .selectAll()
    .where('org_id', '=', org_id)
    .where('delivery_id', '=', delivery_id)
    .orderBy('number', 'desc')
    .execute()
}
