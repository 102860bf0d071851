import { Kysely, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import { withTimeout } from '../timeout.ts'
import { databaseClientOptions, isOfConnection, newClient } from './client-options.ts'
import { shareFairly } from './fair-pool.ts'
import { watchConnections } from './watch-connections.ts'

/**
 * Every table. A feature's `store.ts` adds the tables it owns:
 * `declare module './db.ts' { interface Database { files: FilesTable } }`
 */
// biome-ignore lint/suspicious/noEmptyInterface: features add their tables by declaration merging.
export interface Database {}

/** A pool or a transaction: what a function that only runs queries takes. */
export type Db = Kysely<Database>

/** A transaction, for functions whose writes must stand or fall with the caller's. */
export type Tx = Transaction<Database>

export type OpenDb = { db: Kysely<Database>; pool: pg.Pool; close(): Promise<void> }

/**
 * Opens a pool. int8 and whole numeric come as bigint, timestamptz as Date, date as 'YYYY-MM-DD', json parsed; a numeric
 * with a fraction is an error, cast it in SQL. `on_error` gets the errors of connections that died idle: the pool replaces them. `close`
 * resolves once the server has ended every connection, so that a server stopped next cuts none. Every commit is on the disk when it
 * returns, whatever the server's default is. A statement that is not answered within `statement_seconds` (default: any time) has lost its
 * connection, which is closed; statements that begin with `-- takes long` may take any time. Connections to a server that became
 * read-only, as an old primary does, are replaced, and none to one is used without `read_only_too`, for what only reads.
 */
export function openDb(
  url: string,
  options: {
    pool_max?: number
    statement_seconds?: number
    read_only_too?: boolean
    on_error?: (error: Error) => void
  } = {},
): OpenDb {
  const pool = new pg.Pool({
    ...databaseClientOptions(url),
    Client: newClient as unknown as NonNullable<pg.PoolConfig['Client']>,
    max: options.pool_max ?? 10,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser },
    onConnect: options.read_only_too ? (client) => setUpSession(client).then(() => {}) : setUpWritable,
  })
  shareFairly(pool)
  const connections = watchConnections(pool, { statement_seconds: options.statement_seconds ?? null })
  const connected = new Map<pg.PoolClient, Promise<void>>()
  pool.on('error', options.on_error ?? (() => {}))
  // While a client is checked out the pool does not listen to it, and an error nobody listens to ends the process. Whoever
  // holds it gets the error from its query.
  pool.on('connect', (client) => {
    client.on('error', () => {})
    keepNamedPlans(client)
    connections.watch(client)
    const ended = new Promise<void>((resolve) => client.once('end', resolve))
    connected.set(client, ended)
    void ended.then(() => connected.delete(client))
  })
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
  return {
    db,
    pool,
    async close() {
      connections.close()
      const ended = [...connected.values()]
      await pool.end()
      await withTimeout(CLOSE_MILLISECONDS, Promise.all(ended), () => {})
    },
  }
}

/**
 * Every commit is on the disk, a transaction that was forgotten does not keep dead rows alive, and the server ends within a quarter of a
 * minute, with its locks and transactions, the connection of a process that was cut off by the network. A statement rather than a start-up
 * option, which poolers between us and the server may refuse. A connection on which it fails is not used: the pool awaits it, although its
 * type does not show that.
 */
const setUpSession = async (client: pg.ClientBase): Promise<pg.QueryResult[]> => {
  const set = client.query(
    `set synchronous_commit = on; set idle_in_transaction_session_timeout = '60s'; set tcp_user_timeout = '15s';
     set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 5; show transaction_read_only`,
  )
  return (await answered(set, SET_UP_SECONDS)) as unknown as pg.QueryResult[]
}

const setUpWritable = async (client: pg.ClientBase): Promise<void> => requireWritable(await setUpSession(client))

/** Throws an error as of a database that is down: nothing can be promised on a server that cannot write, and what it shows may be old. */
export function requireWritable(results: ReadonlyArray<{ rows: unknown[] }>): void {
  const { transaction_read_only } = results.at(-1)!.rows[0] as { transaction_read_only: 'on' | 'off' }
  if (transaction_read_only !== 'on') return
  throw Object.assign(new Error('The database is read-only.'), { code: READ_ONLY })
}

/** The pool waits for a connection, but not for what is done with it first. */
const SET_UP_SECONDS = 10

/** How a statement begins that each connection parses once, under this name. It must list its result columns: `*` fails after a migration. */
const NAMED = /^-- prepared as (\w+)\n/

/**
 * Prepares statements that begin with `-- prepared as NAME` once for each connection: for the few whose planning costs more than their
 * execution, and whose plan does not depend on the values. Kysely passes no name of its own to the driver.
 */
function keepNamedPlans(client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...given: unknown[]) => unknown
  client.query = ((text: unknown, values: unknown, ...rest: unknown[]) => {
    const name = typeof text === 'string' ? NAMED.exec(text)?.[1] : undefined
    return name === undefined ? query(text, values, ...rest) : query({ name, text, values }, ...rest)
  }) as typeof client.query
}

/** How long the end of a connection is waited for. */
const CLOSE_MILLISECONDS = 2000

/** Whether a unique constraint or index refused the row: any, or the one named. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  const { code, constraint: refused } = fieldsOf(error)
  return code === '23505' && (constraint === undefined || refused === constraint)
}

/**
 * Whether the database could not be reached, went away, or is starting or stopping: try again later (503), not our bug.
 * A commit that failed so may or may not have happened.
 * Classes 08, 53 and 57, a server that is read-only, sessions that are not ours alone, and connections to it that fail or end: the codes of
 * their sockets, which other sockets have too, and pg's own messages.
 * Source: https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export function isDatabaseDown(error: unknown): boolean {
  const { code, message, syscall } = fieldsOf(error)
  // A socket that is missing is an outage; a file that is missing is not.
  if (code === 'ENOENT') return syscall === 'connect'
  if (code !== undefined && SOCKET_CODES.has(code)) return isOfConnection(error as Error)
  if (code !== undefined) return DOWN_CODES.has(code) || /^(08|53)/.test(code)
  return DOWN_MESSAGES.some((each) => message.includes(each))
}

/** `read_only_sql_transaction`. */
const READ_ONLY = '25006'

/** Of an error of ours: connections share sessions, as behind a pooler in transaction mode. */
export const SESSIONS_SHARED = 'sessions_shared'

/** `duplicate_prepared_statement` and `invalid_sql_statement_name`: what happens to ours then. */
const OF_SHARED_SESSIONS = [SESSIONS_SHARED, '42P05', '26000']

/** Why a database counts as away. */
export type DatabaseOutage = 'unreachable' | 'read_only' | 'full' | 'sessions_shared'

/** Of an error for which `isDatabaseDown`. */
export function outageOf(error: unknown): DatabaseOutage {
  const { code = '' } = fieldsOf(error)
  if (code === READ_ONLY) return 'read_only'
  if (code === DISK_FULL) return 'full'
  return OF_SHARED_SESSIONS.includes(code) ? 'sessions_shared' : 'unreachable'
}

/** `disk_full`. */
const DISK_FULL = '53100'

const DOWN_CODES = new Set([READ_ONLY, ...OF_SHARED_SESSIONS, '57P01', '57P02', '57P03', '57P05'])

const SOCKET_CODES = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'],
  ...['EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'],
])

const NOT_ANSWERED = 'The database has not answered.'

const DOWN_MESSAGES = [
  NOT_ANSWERED,
  'Connection terminated',
  'Client has encountered a connection error',
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Cannot use a pool after calling end on the pool',
]

/**
 * What `statement` returns; when it takes longer than `seconds`, an error as of a database that is away: its connection may have been
 * lost silently. The statement may still be executed.
 */
export function answered<T>(statement: Promise<T>, seconds: number): Promise<T> {
  return withTimeout(seconds * 1000, statement, () => {
    throw new Error(NOT_ANSWERED)
  })
}

const { INT8, NUMERIC, DATE } = pg.types.builtins
const INT8_ARRAY = 1016
const NUMERIC_ARRAY = 1231

function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: never) => unknown {
  const own = format === 'binary' ? undefined : PARSERS.get(oid)
  return (own ?? pg.types.getTypeParser(oid, format as 'text')) as (value: never) => unknown
}

const PARSERS = new Map<number, (value: string) => unknown>([
  [INT8, BigInt],
  [NUMERIC, BigInt],
  [INT8_ARRAY, parseBigints],
  [NUMERIC_ARRAY, parseBigints],
  [DATE, String],
])

/** One dimension, as our columns have: `{1,NULL,3}`. */
function parseBigints(text: string): (bigint | null)[] {
  const body = text.slice(1, -1)
  return body === '' ? [] : body.split(',').map((each) => (each === 'NULL' ? null : BigInt(each)))
}

function fieldsOf(error: unknown): { code?: string; constraint?: string; syscall?: string; message: string } {
  return error instanceof Error
    ? (error as Error & { code?: string; constraint?: string; syscall?: string })
    : { message: '' }
}
