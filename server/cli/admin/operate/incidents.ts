import { type IncidentRow, listIncidents } from '../../../operations/store-incidents.ts'
import { command, type Report } from '../command.ts'
import { FILTERS, readFilters } from '../lists.ts'
import { fitted, span, time } from './table.ts'

export const incidents = command({
  summary: 'what was lost, from when to when, newest first: the database, the bucket, engines and nodes',
  records: null,
  flags: { limit: FILTERS.limit },
  async run({ db, clock }, given): Promise<Report> {
    const { limit } = await readFilters({ db }, given)
    const found = await listIncidents(db, { limit })
    const data = found.slice(0, limit)
    const has_more = found.length > limit
    return {
      json: { object: 'list', data: data.map(viewOf), has_more },
      rows: data.length === 0 ? [['none']] : incidentTable(data, clock.now()),
    }
  },
})

function viewOf({ id, subject, node_id, since, until, times, detail }: IncidentRow) {
  const duration_seconds = until && Math.round((until.getTime() - since.getTime()) / 1000)
  return { id, subject, node_id, since, until, duration_seconds, times, detail }
}

export function incidentTable(rows: readonly IncidentRow[], now: Date): string[][] {
  const head = ['since', 'until', 'for', 'what', 'times', 'detail']
  const table = rows.map(({ since, until, subject, times, detail }) => {
    return [
      time(since),
      until === null ? 'lasts' : time(until),
      span(since, until ?? now),
      subject,
      String(times),
      detail,
    ]
  })
  return fitted([head, ...table])
}
