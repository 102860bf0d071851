import { type Generated, type Selectable, sql } from 'kysely'
import { LOCK_OF_ID } from '../platform/db/database-lock.ts'
import type { Db, Tx } from '../platform/db/db.ts'
import { hasTable } from '../platform/db/migrate.ts'

type NodesTable = {
  id: string
  host_name: string
  data_dir: string
  /** Of its first process. */
  pid: number
  version: string
  role: 'api' | 'worker' | 'all'
  processes: number
  connections: number
  public_url: string | null
  secret: string
  accepted_secrets: string[]
  started_at: Generated<Date>
  seen_at: Generated<Date>
}

declare module '../platform/db/db.ts' {
  interface Database {
    nodes: NodesTable
    node_secret: { single: Generated<boolean>; fingerprint: string; since: Generated<Date> }
  }
}

/** `alive`: its process, or its connection, has not ended. */
export type NodeRow = Selectable<NodesTable> & { alive: boolean }
export type NewNode = Omit<Selectable<NodesTable>, 'started_at' | 'seen_at'>

/** Oldest first, with those that ended without a stop. Also asked of a database without our tables. */
export async function findNodes(db: Db): Promise<NodeRow[]> {
  if (!(await hasTable(db, 'nodes'))) return []
  const alive = sql<boolean>`exists (
    select from pg_locks where locktype = 'advisory' and granted and objsubid = 1
      and database = (select oid from pg_database where datname = current_database())
      and ((classid::bigint << 32) | objid::bigint) = hashtextextended(nodes.id, ${LOCK_OF_ID}))`
  return db.selectFrom('nodes').selectAll().select(alive.as('alive')).orderBy('started_at').orderBy('id').execute()
}

/** Nodes that join or leave at the same time do so one after another. Ends with the transaction. */
export async function lockNodes(tx: Tx): Promise<void> {
  await sql`lock table nodes in share row exclusive mode`.execute(tx)
}

/** Adds a node; of one that is there, what a reload changes is written. */
export async function upsertNode(db: Db, node: NewNode): Promise<void> {
  const { secret, public_url, accepted_secrets } = node
  await writeNode(db, node, { secret, public_url, accepted_secrets: [...accepted_secrets] })
}

/** Says that a node is there, and changes nothing else of it. One whose row was removed while it was taken for dead is there again. */
export async function touchNode(db: Db, node: NewNode): Promise<void> {
  await writeNode(db, node, {})
}

async function writeNode(db: Db, node: NewNode, changes: Partial<NewNode>): Promise<void> {
  await db
    .insertInto('nodes')
    .values({ ...node, accepted_secrets: [...node.accepted_secrets] })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: sql`now()`, ...changes }))
    .execute()
}

export async function deleteNode(db: Db, id: string): Promise<void> {
  await db.deleteFrom('nodes').where('id', '=', id).execute()
}

/** Forgets nodes that were killed, once they have been gone for as long as somebody may want to read of them. */
export async function deleteLostNodes(db: Db): Promise<void> {
  await db.deleteFrom('nodes').where('seen_at', '<', sql<Date>`now() - interval '1 hour'`).execute()
}

/** The fingerprint of the secret in use; null before the first start. Also asked of a database without our tables. */
export async function findSecretInUse(db: Db): Promise<string | null> {
  if (!(await hasTable(db, 'node_secret'))) return null
  const row = await db.selectFrom('node_secret').select('fingerprint').executeTakeFirst()
  return row?.fingerprint ?? null
}

export async function upsertSecretInUse(db: Db, fingerprint: string): Promise<void> {
  await db
    .insertInto('node_secret')
    .values({ fingerprint })
    .onConflict((conflict) =>
      conflict
        .column('single')
        .doUpdateSet({ fingerprint, since: sql`now()` })
        .where('node_secret.fingerprint', '!=', fingerprint),
    )
    .execute()
}

/** Whether there was one. */
export async function deleteSecretInUse(db: Db): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('node_secret').executeTakeFirst()
  return numDeletedRows > 0n
}

export type ConnectionLimits = { max: number; reserved: number }

/** How many connections the server and the database allow this user, and how many of them are kept for others. */
export async function findConnectionLimits(db: Db): Promise<ConnectionLimits> {
  const { rows } = await sql<ConnectionLimits>`
    select least(
        current_setting('max_connections')::integer,
        (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
        (select nullif(datconnlimit, -1) from pg_database where datname = current_database())) as max,
      current_setting('superuser_reserved_connections')::integer
        + coalesce(current_setting('reserved_connections', true)::integer, 0) as reserved`.execute(db)
  return rows[0]!
}
