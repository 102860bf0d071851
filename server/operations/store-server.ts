import { sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'

/** What an operator asks of PostgreSQL. `connections`: all there are, of the `max_connections` that it takes. */
export type ServerStatus = {
  version: string
  read_only: boolean
  connections: number
  max_connections: number
  size_bytes: number
  oldest_transaction_seconds: number
  migration: string | null
}

export async function readServerStatus(db: Db): Promise<ServerStatus> {
  const found = await sql<ServerStatus & { size_bytes: bigint }>`
    select current_setting('server_version') as version,
      current_setting('transaction_read_only') = 'on' as read_only,
      (select count(*)::integer from pg_stat_activity where backend_type = 'client backend') as connections,
      current_setting('max_connections')::integer as max_connections,
      pg_database_size(current_database()) as size_bytes,
      coalesce((select extract(epoch from now() - min(xact_start))::float8 from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()), 0) as oldest_transaction_seconds,
      (select max(name) from schema_migrations) as migration`.execute(db)
  const row = found.rows[0]!
  return { ...row, size_bytes: Number(row.size_bytes) }
}
