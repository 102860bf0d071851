import type { NewNode, NodeRow } from './store.ts'

/** What decides whether a node may run beside others. */
type Facts = Pick<NewNode, 'secret' | 'accepted_secrets' | 'public_url'>

/**
 * Why a node may not start, with the remedy; null when it may. `in_use`: the fingerprint of the secret that a node was last started with.
 * Two nodes fit when each accepts what the other makes, which is what a rotation that goes node by node keeps.
 * Source: docs/reliability.md, Rotating the secret.
 */
export function refusalOfNode(
  node: Facts,
  { in_use, others }: { in_use: string | null; others: readonly NodeRow[] },
): string | null {
  if (in_use !== null && !node.accepted_secrets.includes(in_use)) return OTHER_SECRET
  for (const other of others) {
    if (!node.accepted_secrets.includes(other.secret)) return `${nameOf(other)} has another secret. ${OTHER_SECRET}`
    if (!other.accepted_secrets.includes(node.secret)) {
      return (
        `${nameOf(other)} does not accept the secret of this one, and would reject what this one signs. To rotate the secret while nodes run, ` +
        'first add the new secret to KINORA_SECRET_PREVIOUS of every node and restart them one by one; then make it the current one, one by one.'
      )
    }
  }
  const first = others[0]
  if (!first) return null
  if (node.public_url === null) {
    return `Another node runs on this database (${nameOf(first)}), and links have to lead to any of them. ${PUBLIC_URL}`
  }
  const without = others.find(({ public_url }) => public_url === null)
  return without
    ? `${nameOf(without)} runs without public_url and hands out links to itself. There: ${PUBLIC_URL}`
    : null
}

/** Which node, for a person: `Node node_01… on host-a (/var/lib/kinora)`. */
function nameOf({ id, host_name, data_dir }: Pick<NodeRow, 'id' | 'host_name' | 'data_dir'>): string {
  return `Node ${id} on ${host_name} (${data_dir})`
}

const PUBLIC_URL = 'Set public_url, the address of the proxy before the nodes, to the same on each.'

const OTHER_SECRET =
  'The database has been used with a secret that this node does not have: it could not read what was encrypted with it, and its jobs would ' +
  'fail. Set KINORA_SECRET to the secret of the other nodes, or copy the file secret of their data directory here. To rotate it, add the old ' +
  "one to KINORA_SECRET_PREVIOUS. If that one is lost or was leaked, stop every node and run 'kinora admin secret forget': what was made " +
  'with it becomes invalid.'
