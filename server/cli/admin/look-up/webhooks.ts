import { findOrganizationNames } from '../../../identity/people/store.ts'
import { COUNTED_MAX, type DeliveryBacklog, readBacklogs } from '../../../webhooks/store/backlogs.ts'
import { listEndpointsOfAnyOrg } from '../../../webhooks/store/endpoints.ts'
import { command } from '../command.ts'
import { FILTERS, readFilters } from '../lists.ts'
import { ageOf, durationOf, shortTime } from './text.ts'
import { pageReport } from './wanted.ts'

export const webhookList = command({
  records: null,
  summary: 'list webhook endpoints with what waits for them; --failing: those that fail, the longest first',
  flags: { failing: { help: 'Only those whose last attempt failed' }, org: FILTERS.org, limit: FILTERS.limit },
  async run({ db, clock }, given) {
    const now = clock.now()
    const { org_id, limit } = await readFilters({ db }, given)
    const endpoints = await listEndpointsOfAnyOrg(db, { org_id, limit, failing: given.failing })
    const backlogs = await readBacklogs(
      db,
      endpoints.map(({ id }) => id),
    )
    const names = await findOrganizationNames(
      db,
      endpoints.map(({ org_id }) => org_id),
    )
    const found = endpoints.map(({ id, org_id, ...endpoint }) => ({
      id,
      organization_id: org_id,
      organization: names.get(org_id) ?? org_id,
      ...endpoint,
      ...backlogOf(backlogs.get(id)),
    }))
    type View = (typeof found)[number]
    return pageReport(found, {
      limit,
      looked_until: null,
      columns: [
        { heading: 'organization', text: (each: View) => (given.org ? null : each.organization), elastic: true },
        { heading: 'url', text: ({ url }: View) => url, elastic: true },
        { heading: 'failing since', text: ({ failing_since: at }: View) => at && `${shortTime(at)} ${ageOf(at, now)}` },
        { heading: 'off', text: ({ disabled_reason }: View) => disabled_reason },
        { heading: 'last status', text: lastStatus },
        {
          heading: 'waiting',
          text: ({ waiting }: View) => `${waiting}${waiting === COUNTED_MAX ? '+' : ''}`,
          right: true,
        },
        { heading: 'next try', text: ({ next_try_at }: View) => next_try_at && nextTry(next_try_at, now) },
      ],
    })
  },
})

function backlogOf(backlog: DeliveryBacklog | undefined) {
  const { waiting = 0, next_try_at = null, last_try_at = null, status_code = null, error = null } = backlog ?? {}
  return { waiting, next_try_at, last_try_at, last_status: status_code, last_error: error }
}

function lastStatus({ last_status, last_error }: ReturnType<typeof backlogOf>): string | null {
  return last_status === null ? last_error : String(last_status)
}

function nextTry(at: Date, now: Date): string {
  return at <= now ? `due ${ageOf(at, now)}` : `in ${durationOf((at.getTime() - now.getTime()) / 1000)}`
}
