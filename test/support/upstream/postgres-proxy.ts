import { connect, type Socket } from 'node:net'
import { type Relay, startRelay } from './relay.ts'

export type PostgresProxy = Relay & {
  /** The database through the proxy. */
  url: string
}

/** A stretch of network between a service and its PostgreSQL that can be damaged. */
export async function postgresProxy(database_url: string): Promise<PostgresProxy> {
  const relay = await startRelay(() => dialPostgres(database_url))
  const url = new URL(database_url)
  for (const name of ['host', 'port']) url.searchParams.delete(name)
  url.host = `127.0.0.1:${relay.port}`
  return { ...relay, url: url.href }
}

/** Connects to the PostgreSQL of a URL, which may name the directory of a Unix socket as `host`. */
export function dialPostgres(database_url: string): Socket {
  const { searchParams, port: given, hostname } = new URL(database_url)
  const dir = searchParams.get('host')
  const port = Number(searchParams.get('port') ?? (given || 5432))
  return dir?.startsWith('/') ? connect(`${dir}/.s.PGSQL.${port}`) : connect(port, hostname)
}
