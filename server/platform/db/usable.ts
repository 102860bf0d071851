import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { type Db, requireWritable, SESSIONS_SHARED } from './db.ts'

/** Runs one statement on a connection. */
export type Ask = (statement: string) => Promise<{ rows: unknown[] }>

/**
 * Throws an error as of a database that is away unless it takes writes, has room on its disk, and gives each connection a session of its
 * own. For monitors: it takes two connections and a few milliseconds.
 */
export async function requireUsable(db: Db): Promise<void> {
  await db.connection().execute((one) =>
    db.connection().execute(async (other) => {
      const [first, second] = [one, other].map(
        (each): Ask =>
          (text) =>
            sql.raw(text).execute(each),
      )
      requireWritable([await first!("select current_setting('transaction_read_only') as transaction_read_only")])
      await requireOwnSessions(first!, second!)
      await requireRoom(one)
    }),
  )
}

/**
 * Throws `disk_full` when the server cannot write a temporary file of about 200 kB. A row would often find room in a page that exists already,
 * and leave a dead one behind.
 */
async function requireRoom(db: Db): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`set local work_mem = 64`.execute(tx)
    await sql`select count(*) from generate_series(1, 10000)`.execute(tx)
  })
}

/** How often each of two connections is asked twice in a row. */
const ROUNDS = 2

/**
 * Throws `SESSIONS_SHARED` unless each connection has a session of its own for as long as it lasts, as advisory locks, LISTEN and prepared
 * statements need. A pooler in transaction mode gives each transaction any session: two connections meet in one, or one meets several.
 */
export async function requireOwnSessions(first: Ask, second: Ask): Promise<void> {
  const mark = randomUUID()
  const one = await sessionOf(first)
  await first(`select set_config('kinora.session', '${mark}', false)`)
  const other = await sessionOf(second)
  let own = other.pid !== one.pid && other.mark !== mark
  // Twice in a row, since a pooler that takes its servers in turn may give each of two connections the same one every time.
  for (let round = 0; own && round < ROUNDS; round++)
    for (const ask of [first, first, second, second]) {
      const found = await sessionOf(ask)
      own &&=
        ask === first ? found.pid === one.pid && found.mark === mark : found.pid === other.pid && found.mark !== mark
    }
  if (!own) throw sessionsShared()
}

export function sessionsShared(): Error {
  return Object.assign(
    new Error('Connections to the database share sessions, as behind a pooler in transaction mode.'),
    { code: SESSIONS_SHARED },
  )
}

async function sessionOf(ask: Ask): Promise<{ pid: number; mark: string | null }> {
  const { rows } = await ask("select pg_backend_pid() as pid, current_setting('kinora.session', true) as mark")
  return rows[0] as { pid: number; mark: string | null }
}
