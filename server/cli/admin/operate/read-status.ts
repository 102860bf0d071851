import { findAuditState } from '../../../billing/audit-state.ts'
import type { Config } from '../../../config/config.ts'
import { findLastActivity } from '../../../identity/activity/store.ts'
import { findOrganizationNames } from '../../../identity/people/store.ts'
import { findNodes, type NodeRow } from '../../../nodes/store.ts'
import { countIncidentsSince, findLastingIncidents } from '../../../operations/store-incidents.ts'
import { findProcesses, type ProcessRow, SILENT_SECONDS } from '../../../operations/store-processes.ts'
import { findRefusals } from '../../../operations/store-refusals.ts'
import { readServerStatus } from '../../../operations/store-server.ts'
import { findSwitches, INTAKE, type SwitchRow, switchOfEngine } from '../../../operations/store-switches.ts'
import { addSeconds } from '../../../platform/clock.ts'
import type { Db } from '../../../platform/db/db.ts'
import { readQueue } from '../../../platform/queue/depth.ts'
import { measuredResponseQueue } from '../../../responses/background/claims.ts'
import { measuredVideoQueues } from '../../../videos/pipeline/claims.ts'
import { countRendersOfAll } from '../../../videos/render/store.ts'
import { measuredDeliveryQueue } from '../../../webhooks/store/delivery-claims.ts'
import { listFailingEndpoints } from '../../../webhooks/store/endpoints.ts'

/** Most rows of what may be many. */
const LISTED = 20
const HOUR_SECONDS = 3600

export type ServiceStatus = Awaited<ReturnType<typeof readStatus>>

/** How the service is, from rows alone. */
export async function readStatus({ db, config }: { db: Db; config: Config }, now: Date) {
  const [nodes, processes] = await Promise.all([findNodes(db), findProcesses(db)])
  const reporting = processes.filter((each) => isFresh(each.reported_at, now))
  const queues = [...measuredVideoQueues({ config }), measuredResponseQueue({ config }), measuredDeliveryQueue]
  const switches = await findSwitches(db)
  return {
    checked_at: now,
    switches,
    intake: switches.find(({ name }) => name === INTAKE)?.state ?? 'running',
    incidents: await findLastingIncidents(db),
    incidents_last_hour: await countIncidentsSince(db, addSeconds(now, -HOUR_SECONDS)),
    nodes: nodes.map((node) => nodeView(node, { processes, now })),
    database: await readServerStatus(db),
    storage: storageOf(reporting),
    engines: enginesOf(reporting, { renders: await countRendersOfAll(db), switches }),
    queues: (
      await Promise.all(
        queues.map(async (each) => {
          return (await readQueue(db, each, now)).map((state) => ({ queue: each.queue, ...state }))
        }),
      )
    ).flat(),
    webhook_endpoints: (await listFailingEndpoints(db, LISTED)).map(
      ({ id, org_id, name, failing_since, disabled_reason }) => ({ id, org_id, name, failing_since, disabled_reason }),
    ),
    audit: await findAuditState(db),
    backup: await lastBackup(db),
    refusals: await refusalsOf(db, now),
  }
}

function isFresh(at: Date, now: Date): boolean {
  return now.getTime() - at.getTime() < SILENT_SECONDS * 1000
}

/**
 * `silent`: it holds its connection and has not reported, as when it hangs. `lost`: it ended without a stop. Otherwise as the worst of
 * its processes says.
 */
function nodeView(node: NodeRow, { processes, now }: { processes: readonly ProcessRow[]; now: Date }) {
  const { id, host_name, data_dir, pid, version, role, started_at, seen_at, alive } = node
  const own = processes.filter(({ node_id }) => node_id === id)
  const reporting = own.filter((each) => isFresh(each.reported_at, now))
  const unfit = reporting.find(({ state }) => state.ready === false)
  // Of an HTTP process that was replaced the row lasts for an hour.
  const isSilent = !isFresh(seen_at, now) || (reporting.length < own.length && reporting.length < node.processes)
  const state = isSilent ? (alive ? 'silent' : 'lost') : unfit ? 'not_ready' : 'ready'
  return {
    ...{
      id,
      host_name,
      data_dir,
      pid,
      role,
      version,
      state,
      reason: state === 'not_ready' ? unfit!.state.reason! : null,
    },
    migration: own[0]?.state.migration ?? null,
    processes: node.processes,
    reporting: reporting.length,
    loop_delay_ms: Math.max(0, ...own.map((each) => each.state.loop_delay_ms ?? 0)),
    disk_free_bytes: own[0]?.state.disk_free_bytes ?? null,
    started_at,
    seen_at,
  }
}

function storageOf(reporting: readonly ProcessRow[]) {
  const states = reporting.flatMap(({ state }) => (state.storage ? [state.storage] : []))
  const worst = states.find(({ state }) => state !== 'ok') ?? states[0]
  return { kind: worst?.kind ?? null, state: worst?.state ?? null, processes: states.length }
}

/** Each engine as the process sees it that has the most failures. */
function enginesOf(
  reporting: readonly ProcessRow[],
  { renders, switches }: { renders: Awaited<ReturnType<typeof countRendersOfAll>>; switches: readonly SwitchRow[] },
) {
  const seen = Map.groupBy(
    reporting.flatMap(({ state }) => state.engines ?? []),
    ({ name }) => name,
  )
  return [...seen.values()].map((views) => {
    const worst = views.toSorted((a, b) => b.failures - a.failures)[0]!
    const open = views.find(({ breaker }) => breaker !== 'closed')
    const running = renders.filter((each) => nameOf(each) === worst.name).reduce((sum, { count }) => sum + count, 0)
    const switchOf = (engine: string) => switches.find(({ name }) => name === switchOfEngine(engine))
    const paused = switchOf(worst.name) ?? switchOf(worst.model)
    return {
      ...worst,
      state: paused?.state ?? 'running',
      breaker: open?.breaker ?? 'closed',
      running: worst.family === 'video' ? running : null,
      processes: views.length,
      failing_processes: views.filter(({ failures }) => failures > 0).length,
    }
  })
}

function nameOf({ model, engine }: { model: string; engine: string | null }): string {
  return engine === null ? model : `${model}/${engine}`
}

async function lastBackup(db: Db) {
  const found = await findLastActivity(db, 'backup.take')
  return found && { taken_at: found.created_at, by: found.actor }
}

async function refusalsOf(db: Db, now: Date) {
  const found = await findRefusals(db, { since: addSeconds(now, -HOUR_SECONDS), limit: LISTED })
  const names = await findOrganizationNames(
    db,
    found.map(({ org_id }) => org_id),
  )
  return found.map(({ org_id, ...rest }) => ({ org_id, organization: names.get(org_id) ?? null, ...rest }))
}
