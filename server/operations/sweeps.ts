import type { Kysely } from 'kysely'
import { findNodes, type NodeRow } from '../nodes/store.ts'
import { addSeconds, type Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/db.ts'
import type { Sweep } from '../platform/sweep.ts'
import {
  beginIncident,
  deleteOldIncidents,
  endIncident,
  endUnseen,
  findLasting,
  lockIncidents,
} from './store-incidents.ts'
import { deleteSilentProcesses, SILENT_SECONDS } from './store-processes.ts'
import { deleteRefusalsBefore } from './store-refusals.ts'

const WATCH_SECONDS = 15
const DELETE_SECONDS = 3600
/** How long refusals are counted. */
const REFUSALS_SECONDS = 86_400
const NOBODY = { node_id: '', pid: 0 }

/** Notices nodes that are lost, ends what nobody sees any more, and deletes what is old. */
export function operationsSweeps(ctx: { db: Kysely<Database>; clock: Clock }): Sweep[] {
  let silent: ReadonlySet<string> = new Set()
  return [
    {
      name: 'operations.watch',
      every_seconds: WATCH_SECONDS,
      async run() {
        silent = await watchNodes(ctx, silent)
      },
    },
    {
      name: 'operations.retention',
      every_seconds: DELETE_SECONDS,
      async run() {
        await deleteOldIncidents(ctx.db)
        await deleteSilentProcesses(ctx.db)
        await deleteRefusalsBefore(ctx.db, addSeconds(ctx.clock.now(), -REFUSALS_SECONDS))
      },
    },
  ]
}

/**
 * A node is lost that is silent now and was so at the last look: when the database comes back, those that nobody has heard of meanwhile have
 * until the next look to report. Returns the silent ones.
 */
async function watchNodes(
  { db, clock }: { db: Kysely<Database>; clock: Clock },
  before: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const nodes = await findNodes(db)
  const now = clock.now()
  const newest = Math.max(...nodes.map(({ seen_at }) => seen_at.getTime()))
  const silent = nodes.filter((node) => isSilent(node, newest) && !isReplaced(node, nodes))
  const lost = silent.filter(({ id }) => before.has(id))
  const lasting = await findLasting(db, 'node')
  const back = lasting.filter(({ subject }) => !lost.some(({ id }) => subject === subjectOf(id)))
  await db.transaction().execute(async (tx) => {
    await lockIncidents(tx)
    for (const { id, seen_at: since, alive, host_name, data_dir } of lost) {
      const what = alive ? 'hangs: it is connected and has not reported' : 'ended without a stop'
      const detail = `The node on ${host_name} (${data_dir}) ${what}.`
      await beginIncident(tx, { subject: subjectOf(id), node_id: id, since, detail })
    }
    for (const { subject } of back) await endIncident(tx, { subject, until: now, except: NOBODY })
    await endUnseen(tx)
  })
  return new Set(silent.map(({ id }) => id))
}

const subjectOf = (id: string) => `node ${id}`

function isSilent({ seen_at }: NodeRow, newest: number): boolean {
  return seen_at.getTime() < newest - SILENT_SECONDS * 1000
}

/** Whether the same directory has a node again. */
function isReplaced(node: NodeRow, nodes: readonly NodeRow[]): boolean {
  return nodes.some(
    ({ id, host_name, data_dir, started_at }) =>
      id !== node.id && host_name === node.host_name && data_dir === node.data_dir && started_at > node.started_at,
  )
}
