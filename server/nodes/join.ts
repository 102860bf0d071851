import type { Kysely } from 'kysely'
import type { Database, Db } from '../platform/db/db.ts'
import type { Log } from '../platform/log.ts'
import { StartError } from '../platform/start-error.ts'
import { fingerprintSecrets } from './fingerprint.ts'
import { refusalOfNode } from './fit.ts'
import {
  deleteLostNodes,
  findNodes,
  findSecretInUse,
  lockNodes,
  type NewNode,
  type NodeRow,
  touchNode,
  upsertNode,
  upsertSecretInUse,
} from './store.ts'

/**
 * Rejects a node that does not fit what the database was used with, or the nodes that run on it, before anything is changed. Throws
 * StartError with the remedy.
 */
export async function requireFittingNode(db: Db, node: NewNode): Promise<NodeRow[]> {
  const [in_use, nodes] = await Promise.all([findSecretInUse(db), findNodes(db)])
  const others = nodes.filter(({ alive, id }) => alive && id !== node.id)
  const refusal = refusalOfNode(node, { in_use, others })
  if (refusal) throw new StartError(refusal)
  return others
}

/**
 * Makes the node known to the others, on a migrated database whose lock it holds. Returns the others that are alive. Throws StartError when
 * it does not fit one that joined in the meantime.
 */
export async function joinNodes(db: Kysely<Database>, node: NewNode): Promise<NodeRow[]> {
  return db.transaction().execute(async (tx) => {
    await lockNodes(tx)
    const others = await requireFittingNode(tx, node)
    await deleteLostNodes(tx)
    await upsertNode(tx, node)
    await upsertSecretInUse(tx, node.secret)
    return others
  })
}

/** Whether the node that started or was reloaded last makes new values with this secret. Also where there has been none yet. */
export async function isSecretInUse(db: Db, secret: string): Promise<boolean> {
  const in_use = await findSecretInUse(db)
  return in_use === null || in_use === (await fingerprintSecrets([secret])).secret
}

const SEEN_SECONDS = 10

/** Writes every ten seconds that the node is there, one write at a time, until `stop`. The row is removed by whoever ends the node. */
export function stayJoined(db: Db, node: NewNode, log: Log): { stop(): Promise<void> } {
  let writing: Promise<unknown> | null = null
  const write = async () => {
    await touchNode(db, node).catch((error: unknown) => log.debug('node_not_seen', { error }))
    writing = null
  }
  const timer = setInterval(() => {
    writing ??= write()
  }, SEEN_SECONDS * 1000).unref()
  return {
    async stop() {
      clearInterval(timer)
      await writing
    },
  }
}
