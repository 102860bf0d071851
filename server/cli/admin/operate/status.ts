import { formatBytes } from '../../units.ts'
import { command } from '../command.ts'
import { incidentTable } from './incidents.ts'
import { readStatus, type ServiceStatus } from './read-status.ts'
import { lines, span, time } from './table.ts'

export const status = command({
  summary: 'how the service is: nodes, database, storage, engines, queues, webhooks, audit, backup, refusals',
  records: null,
  flags: {},
  async run({ db, config, clock }) {
    const found = await readStatus({ db, config }, clock.now())
    return { json: found, rows: statusLines(found).map((line) => [line]) }
  },
})

/** The status for a person: the worst first, each line within the width of a terminal. */
function statusLines(status: ServiceStatus): string[] {
  const { incidents, checked_at: now } = status
  const sections = [
    incidents.length === 0 ? [noOutageLine(status)] : ['Lost now', ...lines(incidentTable(incidents, now))],
    factLines(status),
    ...(status.switches.length === 0 ? [] : [['Paused', ...switchLines(status)]]),
    ['Nodes', ...nodeLines(status)],
    ['Engines', ...engineLines(status)],
    ['Queues', ...queueLines(status)],
    ...(status.webhook_endpoints.length === 0 ? [] : [['Failing webhook endpoints', ...endpointLines(status)]]),
    ['Refused in the last hour', ...refusalLines(status)],
  ]
  return sections.flatMap((section, i) => (i === 0 ? section : ['', ...section]))
}

/** Of the database, storage, engines and nodes: jobs that hang and webhooks that fail are further down. */
function noOutageLine({ incidents_last_hour: count }: ServiceStatus): string {
  return `No outage now. ${count === 0 ? 'None' : `${count}, see kinora admin incidents,`} in the last hour.`
}

function factLines({ checked_at: now, database, storage, audit, backup }: ServiceStatus): string[] {
  const ago = (date: Date) => `${span(date, now)} ago, ${time(date)}`
  const { connections, max_connections, size_bytes, oldest_transaction_seconds: oldest } = database
  const since = new Date(now.getTime() - oldest * 1000)
  return lines([
    ['checked', time(now)],
    [
      'database',
      `PostgreSQL ${database.version}, ${database.read_only ? 'READ-ONLY' : 'takes writes'}, ${database.migration}`,
    ],
    [
      '',
      `${connections} of ${max_connections} connections, ${formatBytes(size_bytes)}, oldest transaction ${span(since, now)}`,
    ],
    ['storage', storage.kind === null ? 'no process reports' : `${storage.kind}: ${storage.state}`],
    [
      'audit',
      audit === null
        ? 'never'
        : `${audit.broken.length === 0 ? 'sound' : `BROKEN: ${audit.broken.join(', ')}`}, ${ago(audit.checked_at)}`,
    ],
    ['backup', backup === null ? 'none is known' : ago(backup.taken_at)],
  ])
}

function switchLines({ switches, checked_at: now }: ServiceStatus): string[] {
  const rows = switches.map(({ name, state, since, changed_by }) => [
    name,
    state,
    `${span(since, now)} ago`,
    changed_by,
  ])
  return lines([['what', 'state', 'since', 'by'], ...rows])
}

function nodeLines({ nodes, checked_at: now }: ServiceStatus): string[] {
  if (nodes.length === 0) return ['none']
  const rows = nodes.map((node) => {
    const state = node.reason === null ? node.state : `${node.state}: ${node.reason}`
    const free = node.disk_free_bytes === null ? '-' : formatBytes(node.disk_free_bytes)
    const seen = `${span(node.seen_at, now)} ago`
    const build = [node.version, node.migration?.slice(0, 4) ?? '-']
    return [
      state,
      node.role,
      `${node.reporting}/${node.processes}`,
      seen,
      ...build,
      free,
      `${node.host_name}:${node.pid}`,
    ]
  })
  return lines([['state', 'role', 'processes', 'seen', 'version', 'schema', 'disk free', 'host:pid'], ...rows])
}

function engineLines({ engines, checked_at: now }: ServiceStatus): string[] {
  if (engines.length === 0) return ['no process reports']
  const rows = engines.map((each) => {
    const running = each.running === null ? '-' : `${each.running}${each.slots === null ? '' : `/${each.slots}`}`
    const failing = each.failing_since === null ? '-' : `${each.failures} in ${span(new Date(each.failing_since), now)}`
    return [each.name, each.family, each.state, each.breaker, running, failing, each.last_error ?? '-']
  })
  return lines([['name', 'family', 'state', 'breaker', 'renders', 'failed', 'last error'], ...rows])
}

function queueLines({ queues, checked_at: now }: ServiceStatus): string[] {
  const rows = queues.map(({ queue, state, rows: all, due, claimed, oldest_at, oldest_id }) => {
    const age = oldest_at === null ? '-' : span(oldest_at, now)
    return [queue, state, String(all), String(due), String(claimed), age, oldest_id ?? '-']
  })
  return lines([['queue', 'state', 'rows', 'due', 'at work', 'age', 'oldest'], ...rows])
}

function endpointLines({ webhook_endpoints, checked_at: now }: ServiceStatus): string[] {
  const rows = webhook_endpoints.map(({ id, org_id, name, failing_since, disabled_reason }) => {
    const failing = failing_since === null ? '-' : span(failing_since, now)
    return [id, org_id, failing, disabled_reason ?? '-', name]
  })
  return lines([['id', 'organization', 'failing', 'disabled', 'name'], ...rows])
}

function refusalLines({ refusals }: ServiceStatus): string[] {
  if (refusals.length === 0) return ['none']
  const rows = refusals.map(({ org_id, organization, code, count }) => [
    String(count),
    code,
    org_id,
    organization ?? '-',
  ])
  return lines([['times', 'code', 'organization', 'name'], ...rows])
}
