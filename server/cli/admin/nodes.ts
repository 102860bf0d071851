import { recordActivity } from '../../identity/activity/activity.ts'
import { deleteSecretInUse, findNodes, type NodeRow } from '../../nodes/store.ts'
import { SILENT_SECONDS } from '../../operations/store-processes.ts'
import { CommandError, command } from './command.ts'
import { listed } from './lists.ts'

export const nodes = command({
  summary: 'list the nodes that run on the database, and those that ended within the hour without a stop',
  records: null,
  flags: {},
  async run({ db, clock }) {
    const rows = (await findNodes(db)).map(
      ({ id, host_name, data_dir, pid, version, role, processes, connections, ...node }) => ({
        id,
        host_name,
        data_dir,
        pid,
        version,
        role,
        processes,
        connections,
        state: stateOf(node, clock.now()),
        started_at: node.started_at,
        seen_at: node.seen_at,
      }),
    )
    return listed(rows, rows.length)
  },
})

/** `silent`: its connection lasts and it has not been seen, as when it hangs. */
function stateOf({ alive, seen_at }: Pick<NodeRow, 'alive' | 'seen_at'>, now: Date): 'alive' | 'silent' | 'lost' {
  if (!alive) return 'lost'
  return now.getTime() - seen_at.getTime() < SILENT_SECONDS * 1000 ? 'alive' : 'silent'
}

export const secretForget = command({
  summary: 'let the next start bring another secret, when the one in use is lost or was leaked; no node may run',
  records: 'secret.forget',
  flags: {},
  async run({ db, actor, clock }) {
    const alive = (await findNodes(db)).filter((node) => node.alive)
    if (alive.length > 0) {
      throw new CommandError(
        `${alive.length === 1 ? 'A node runs' : `${alive.length} nodes run`} on the database, on ${alive.map(({ host_name }) => host_name).join(', ')}. Stop every node first.`,
      )
    }
    const deed = { actor, action: 'secret.forget', org_id: null, target: null, now: clock.now() } as const
    const forgotten = await db.transaction().execute(async (tx) => {
      await recordActivity(tx, deed)
      return deleteSecretInUse(tx)
    })
    const note =
      'what was made with the secret before is invalid from the next start on, unless KINORA_SECRET_PREVIOUS names it'
    return { json: { forgotten, note }, rows: [['forgotten', String(forgotten)] as const, ['note', note] as const] }
  },
})
