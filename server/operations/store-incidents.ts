import { sql } from 'kysely'
import type { Db, Tx } from '../platform/db/db.ts'
import { newId } from '../platform/ids.ts'
import { SILENT_SECONDS } from './store-processes.ts'

export type IncidentRow = {
  id: string
  subject: string
  node_id: string
  since: Date
  until: Date | null
  times: number
  detail: string
}

declare module '../platform/db/db.ts' {
  interface Database {
    incidents: IncidentRow
  }
}

/** One that is lost again within this time of its end is the same incident: what comes and goes is one row. */
const SAME_SECONDS = 60
/** Incidents kept, and for how long. */
const KEPT = 10_000
const KEPT_DAYS = 90

/** Those that write incidents do so one after another. Ends with the transaction. */
export async function lockIncidents(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('incidents', 7301950146))`.execute(tx)
}

/** Writes that `subject` has been lost since then, where that is news. Call it under `lockIncidents`. */
export async function beginIncident(
  tx: Tx,
  { subject, node_id, since, detail }: Pick<IncidentRow, 'subject' | 'node_id' | 'since' | 'detail'>,
): Promise<void> {
  const { rows } = await sql<IncidentRow>`
    select * from incidents where subject = ${subject}
      and (until is null or until > ${since}::timestamptz - ${SAME_SECONDS} * interval '1 second')
    order by since desc limit 1`.execute(tx)
  const same = rows[0]
  if (same === undefined) {
    const row = { id: newId('incident', since), subject, node_id, since, until: null, times: 1, detail }
    await tx.insertInto('incidents').values(row).execute()
    return
  }
  const again = same.until !== null && since >= same.until
  const lasts = same.until === null && same.since <= since
  if (lasts && same.detail === detail) return
  await tx
    .updateTable('incidents')
    .set({ since: since < same.since ? since : same.since, until: null, times: same.times + (again ? 1 : 0), detail })
    .where('id', '=', same.id)
    .execute()
}

/** Writes that `subject` is back, unless another process still sees it lost. Call it under `lockIncidents`. */
export async function endIncident(
  tx: Tx,
  { subject, until, except }: { subject: string; until: Date; except: { node_id: string; pid: number } },
): Promise<void> {
  const { node_id, pid } = except
  await sql`
    update incidents set until = greatest(since, ${until}::timestamptz)
    where subject = ${subject} and until is null and not exists (
      select from process_states p where ${subject} = any(p.away) and (p.node_id, p.pid) <> (${node_id}, ${pid}::integer)
        and p.reported_at > now() - ${SILENT_SECONDS} * interval '1 second')`.execute(tx)
}

export async function findLastingIncidents(db: Db): Promise<IncidentRow[]> {
  return db.selectFrom('incidents').selectAll().where('until', 'is', null).orderBy('since').orderBy('id').execute()
}

/** Those of one kind. */
export async function findLasting(db: Db, kind: 'node'): Promise<IncidentRow[]> {
  return db
    .selectFrom('incidents')
    .selectAll()
    .where('until', 'is', null)
    .where('subject', 'like', `${kind} %`)
    .execute()
}

/**
 * Ends what processes saw that have ended or hang, at the time of the last report of one that saw it; a node that is lost is seen by
 * others.
 */
export async function endUnseen(tx: Tx): Promise<void> {
  await sql`
    update incidents i set until = greatest(since, coalesce(
      (select max(reported_at) from process_states p where i.subject = any(p.away)), now()))
    where until is null and subject not like 'node %' and not exists (
      select from process_states p where i.subject = any(p.away)
        and p.reported_at > now() - ${SILENT_SECONDS} * interval '1 second')`.execute(tx)
}

/** Ends what a copy of the database has lasting, of which nothing is known after it was taken. */
export async function endAtCopy(db: Db, taken_at: Date): Promise<void> {
  await sql`update incidents set until = greatest(since, ${taken_at}::timestamptz) where until is null`.execute(db)
}

export async function deleteOldIncidents(db: Db): Promise<void> {
  await sql`
    delete from incidents where until < now() - ${KEPT_DAYS} * interval '1 day'
      or id in (select id from incidents where until is not null order by since desc, id offset ${KEPT})`.execute(db)
}

/** Newest first; one more than `limit` where there is more. */
export async function listIncidents(db: Db, { limit }: { limit: number }): Promise<IncidentRow[]> {
  return db
    .selectFrom('incidents')
    .selectAll()
    .orderBy('since', 'desc')
    .orderBy('id')
    .limit(limit + 1)
    .execute()
}

/** Incidents that began or lasted since then. */
export async function countIncidentsSince(db: Db, since: Date): Promise<number> {
  const { count } = await db
    .selectFrom('incidents')
    .select(({ fn }) => fn.countAll<bigint>().as('count'))
    .where((is) => is.or([is('until', 'is', null), is('until', '>=', since)]))
    .executeTakeFirstOrThrow()
  return Number(count)
}
