import pg from 'pg'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../server/platform/postgres/embedded.ts'

export type Database = {
  /** Past every relay. */
  url: string
  pool: pg.Pool
  /** Ends every connection and its process; nobody answers until `start`. */
  stop(): Promise<void>
  start(): Promise<void>
  /** Runs a statement that changes the server, and has it read its settings again. */
  configure(statement: string): Promise<void>
  close(): Promise<void>
}

/** A PostgreSQL of its own in `dir`. */
export async function startDatabase(dir: string): Promise<Database> {
  let server: EmbeddedPostgres | null = await startEmbeddedPostgres({ dir })
  const { url } = server
  const pool = new pg.Pool({ connectionString: url, max: 2, options: '-c default_transaction_read_only=off' })
  pool.on('error', () => {})
  const stop = async () => {
    await server?.stop()
    server = null
  }
  return {
    url,
    pool,
    stop,
    async start() {
      server ??= await startEmbeddedPostgres({ dir })
    },
    async configure(statement) {
      await pool.query(statement)
      await pool.query('select pg_reload_conf()')
    },
    async close() {
      await pool.end()
      await stop()
    },
  }
}
