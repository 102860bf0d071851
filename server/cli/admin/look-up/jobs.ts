import { findOrganizationNames } from '../../../identity/people/store.ts'
import { formatMoney } from '../../../platform/money.ts'
import { isTerminal, STATUSES } from '../../../videos/job.ts'
import { findEndOfWalk, listJobsOfAnyOrg } from '../../../videos/list/store-any-org.ts'
import { command } from '../command.ts'
import { ageOf, shortTime } from './text.ts'
import { pageReport, READ_MAX, readStatuses, readWanted, WANTED } from './wanted.ts'

export const jobList = command({
  records: null,
  summary: 'list video jobs by status, age, model, engine or error, without their prompts',
  flags: {
    ...WANTED,
    status: { value: '<statuses>', help: 'Such as queued,in_progress; unfinished or ended for all of these' },
    model: { value: '<id>', help: 'Only of this model' },
    engine: { value: '<name>', help: 'Only whose last start was on it: <model>/<name>, its own name, or its kind' },
    error: { value: '<code>', help: 'Only failed with this code, such as render_timeout' },
  },
  async run({ db, clock }, given) {
    const now = clock.now()
    const { model = null, engine = null, error = null } = given
    const statuses = readStatuses(error === null ? given.status : (given.status ?? 'failed'), STATUSES, isTerminal)
    const wanted = { ...(await readWanted(db, given, now)), statuses, model, engine, error, read_max: READ_MAX }
    const jobs = await listJobsOfAnyOrg(db, wanted)
    const looked_until = jobs.length > wanted.limit ? null : await findEndOfWalk(db, wanted)
    const names = await findOrganizationNames(
      db,
      jobs.map(({ org_id }) => org_id),
    )
    const found = jobs.map(
      ({ id, org_id, status, model, seconds, cost, currency, error_code, created_at, ...job }) => ({
        id,
        organization_id: org_id,
        organization: names.get(org_id) ?? org_id,
        status,
        model,
        seconds,
        cost: `${formatMoney(cost)} ${currency}`,
        error: error_code,
        created_at,
        finished_at: job.finished_at,
        starts: job.starts ?? 0,
        render: job.render,
        engine: job.engine,
        unknown_status: job.engine_status,
        heard_at: job.last_heard_at,
      }),
    )
    type View = (typeof found)[number]
    return pageReport(found, {
      limit: wanted.limit,
      looked_until,
      columns: [
        { heading: 'id', text: ({ id }) => id },
        { heading: 'created', text: ({ created_at }) => shortTime(created_at) },
        { heading: 'age', text: ({ created_at }) => ageOf(created_at, now), right: true },
        { heading: 'status', text: ({ status }) => status },
        { heading: 'detail', text: detailOf, elastic: true },
        { heading: 'organization', text: (job: View) => (given.org ? null : job.organization), elastic: true },
        { heading: 'model', text: (job: View) => (given.model ? null : job.model), elastic: true },
        { heading: 'engine', text: (job: View) => (given.engine ? null : job.engine), elastic: true },
      ],
    })
  },
})

/** Why a job failed; of an unfinished one what became of its last start, and the word of its engine that nobody knows. */
function detailOf(job: {
  error: string | null
  finished_at: Date | null
  render: string | null
  unknown_status: string | null
}) {
  if (job.finished_at !== null) return job.error
  return job.unknown_status === null ? job.render : `${job.render}: ${job.unknown_status}`
}
