import { openSync } from 'node:fs'
import { join } from 'node:path'
import { StartError } from '../start-error.ts'

/** The port only names the socket file. */
export const SOCKET_PORT = 5432

/** Longest path of a Unix socket in bytes: sun_path less its NUL, unix(7). */
const SOCKET_PATH_BYTES_MAX = process.platform === 'linux' ? 107 : 103

// Descriptors belong to the process. An alias is opened once for each cluster and stays open, because a client may reconnect at any time.
const aliases = new Map<string, string>()

/**
 * A path of the socket's directory that is short enough to connect to. A deep `cluster` is reached through a descriptor
 * that this process keeps open; that alias is valid for this process and its children of the same user.
 */
export function socketDir(cluster: string): string {
  if (fits(cluster)) return cluster
  if (process.platform !== 'linux')
    throw new StartError(`The data directory's path is too long for a socket: ${cluster}`)
  const known = aliases.get(cluster)
  if (known) return known
  const alias = `/proc/${process.pid}/fd/${openSync(cluster, 'r')}`
  aliases.set(cluster, alias)
  return alias
}

/** The URL of `database`, for clients in this process and for psql. */
export function socketUrl(cluster: string, database: string): string {
  return `postgres://kinora@localhost/${database}?host=${encodeURIComponent(socketDir(cluster))}&port=${SOCKET_PORT}`
}

function fits(dir: string): boolean {
  return Buffer.byteLength(join(dir, `.s.PGSQL.${SOCKET_PORT}`)) <= SOCKET_PATH_BYTES_MAX
}
