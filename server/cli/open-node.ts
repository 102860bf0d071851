import { hostname } from 'node:os'
import type { Kysely } from 'kysely'
import type { Config } from '../config/config.ts'
import { isShared } from '../config/storage.ts'
import { connectionsOf, processesOf } from '../nodes/connections.ts'
import { fingerprintSecrets } from '../nodes/fingerprint.ts'
import { joinNodes } from '../nodes/join.ts'
import { previousSecrets, readSecret } from '../nodes/secret.ts'
import type { NewNode } from '../nodes/store.ts'
import type { Database } from '../platform/db/db.ts'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import { VERSION } from '../platform/start/version.ts'
import { StartError } from '../platform/start-error.ts'
import type { NextSettings } from '../reload/node.ts'
import { type OpenDatabase, type OpenOptions, openDatabase } from './database.ts'

/** A node that holds its data directory and its database, and what it starts with. */
export type OpenNode = { node: NewNode; database: OpenDatabase; settings: NextSettings }

/** Takes the data directory, its secret and the database, as one node of those that run on it. Throws StartError where it may not. */
export async function openNode(
  config: Config,
  log: Log,
  options: Pick<OpenOptions, 'meanwhile' | 'waiting' | 'on_taken'>,
): Promise<OpenNode> {
  let found: { node: NewNode; settings: NextSettings } | undefined
  const database = await openDatabase(config, log, {
    ...options,
    async joining({ path }) {
      const { secret, keep } = readSecret(config.secret, path)
      const settings = withSecrets(config, secret, path)
      const { workers, role } = config
      const node = {
        id: newId('node'),
        host_name: hostname(),
        data_dir: path,
        pid: process.pid,
        version: VERSION,
        role,
        processes: processesOf(workers),
        connections: connectionsOf({ workers, pool: config.database.pool }),
        ...(await reloadable(settings)),
      }
      found = { node, settings }
      return { node, keep }
    },
  })
  return { ...found!, database }
}

/**
 * Makes what a reload changes of a node known to the others. Throws StartError, with nothing changed, when it would no longer fit them: see
 * `refusalOfNode`.
 */
export async function rejoin(db: Kysely<Database>, node: NewNode, next: NextSettings): Promise<void> {
  const changed = await reloadable(next)
  await joinNodes(db, { ...node, ...changed })
  Object.assign(node, changed)
}

/** The secret in use, and the configuration with the previous ones. */
export function withSecrets(config: Config, secret: string, data_dir: string): NextSettings {
  return { config: { ...config, previous_secrets: previousSecrets(config.previous_secrets, data_dir) }, secret }
}

async function reloadable({
  config,
  secret,
}: NextSettings): Promise<Pick<NewNode, 'public_url' | 'secret' | 'accepted_secrets'>> {
  return { public_url: config.public_url, ...(await fingerprintSecrets([secret, ...config.previous_secrets])) }
}

/** Throws StartError for a node that would leave its work to others of which there can be none. */
export function requireSharedRole({ role, storage, database_url }: Config): void {
  if (role === 'all' || (isShared(storage) && database_url !== null)) return
  throw new StartError(
    `The role ${role} is for one of several nodes, which share a database and a bucket: set DATABASE_URL and storage.kind s3, or leave the role out.`,
  )
}
