import { createRequire } from 'node:module'
import pg, { type ClientConfig } from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'

const require = createRequire(import.meta.url)

/** Of a connection that asks for a password. */
type Asking = { host?: string | undefined; port?: number; database?: string | undefined; user?: string | undefined }

/** Errors of connections to a database. Their codes are those of any socket. */
const connectionErrors = new WeakSet<Error>()

export function isOfConnection(error: Error): boolean {
  return connectionErrors.has(error)
}

/** A client of `pg`, of whose connection `isOfConnection` knows the errors. A pool may call it as a constructor. */
export function newClient(options: ClientConfig): pg.Client {
  const client = new pg.Client(options)
  const { connection } = client as pg.Client & { connection: NodeJS.EventEmitter }
  connection.on('error', (error: Error) => connectionErrors.add(error))
  return client
}

/**
 * What a client or pool of `pg` connects with: the URL and, when it has no password and PGPASSWORD is not set, that of the password file
 * (PGPASSFILE, else ~/.pgpass), read again for each connection that the server asks for one.
 * Source: https://www.postgresql.org/docs/current/libpq-pgpass.html
 */
export function databaseClientOptions(url: string): ClientConfig {
  const options = parseIntoClientConfig(url)
  return options.password || process.env.PGPASSWORD
    ? options
    : { ...options, password: passwordFromFile as () => Promise<string> }
}

/** Undefined when the file has none for it, and when others may read the file, which `pgpass` warns of on standard error. */
function passwordFromFile(asking: Asking): Promise<string | undefined> {
  const read = require('pgpass') as (asking: Asking, found: (password?: string) => void) => void
  return new Promise((resolve) => read(asking, resolve))
}
