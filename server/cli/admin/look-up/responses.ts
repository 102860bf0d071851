import { findOrganizationNames } from '../../../identity/people/store.ts'
import { RESPONSE_STATUSES } from '../../../responses/schema/response.ts'
import { findEndOfResponseWalk, hasEnded, listResponsesOfAnyOrg } from '../../../responses/stored/store/list.ts'
import { command } from '../command.ts'
import { ageOf, durationOf, shortTime } from './text.ts'
import { pageReport, READ_MAX, readStatuses, readWanted, WANTED } from './wanted.ts'

export const responseList = command({
  records: null,
  summary: 'list background responses by status, age, model or error, without what they say',
  flags: {
    ...WANTED,
    status: {
      value: '<statuses>',
      help: 'Such as queued,in_progress; unfinished (the default) or ended for all of these',
    },
    model: { value: '<id>', help: 'Only of this model' },
    error: { value: '<code>', help: 'Only failed with this code, such as server_error' },
  },
  async run({ db, clock }, given) {
    const now = clock.now()
    const { model = null, error = null } = given
    const status = given.status ?? (error === null ? 'unfinished' : 'failed')
    const statuses = readStatuses(status, RESPONSE_STATUSES, hasEnded)
    const wanted = { ...(await readWanted(db, given, now)), statuses, model, error, read_max: READ_MAX }
    const rows = await listResponsesOfAnyOrg(db, wanted)
    const looked_until = rows.length > wanted.limit ? null : await findEndOfResponseWalk(db, wanted)
    const names = await findOrganizationNames(
      db,
      rows.map(({ org_id }) => org_id),
    )
    const found = rows.map(({ org_id, error_code: error, ...row }) => ({
      ...row,
      organization_id: org_id,
      organization: names.get(org_id) ?? org_id,
      error,
    }))
    type View = (typeof found)[number]
    const timeOf = ({ finished_at, created_at }: View) => finished_at ?? created_at
    return pageReport(found, {
      limit: wanted.limit,
      looked_until,
      columns: [
        { heading: 'id', text: ({ id }) => id, elastic: true },
        { heading: 'time', text: (each) => shortTime(timeOf(each)) },
        { heading: 'age', text: (each) => ageOf(timeOf(each), now), right: true },
        { heading: 'status', text: ({ status }) => status },
        { heading: 'detail', text: (each) => detailOf(each, now) },
        { heading: 'organization', text: (each) => (given.org ? null : each.organization), elastic: true },
        { heading: 'model', text: (each) => (given.model ? null : each.model), elastic: true },
      ],
    })
  },
})

type Unfinished = {
  error: string | null
  next_run_at: Date | null
  claimed_until: Date | null
  cancel_requested_at: Date | null
  waits: number
}

/** Why a response failed, or what an unfinished one waits for. */
function detailOf(
  { error, next_run_at, claimed_until, cancel_requested_at, waits }: Unfinished,
  now: Date,
): string | null {
  if (next_run_at === null) return error
  if (cancel_requested_at !== null) return 'to be cancelled'
  if (claimed_until !== null) return claimed_until < now ? 'its process is gone' : 'runs'
  const again = waits === 0 ? '' : `, put off ${waits} times`
  return next_run_at > now
    ? `next in ${durationOf((next_run_at.getTime() - now.getTime()) / 1000)}${again}`
    : `due${again}`
}
