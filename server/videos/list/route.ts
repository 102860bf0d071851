import Type, { type Static } from 'typebox'
import { route } from '../../identity/caller/route.ts'
import { ApiError } from '../../platform/errors.ts'
import { openShares } from '../../platform/fair-queue.ts'
import { abortOnLeaving } from '../../platform/http/abort-on-disconnect.ts'
import { leaseForReading, readWithRoom } from '../../platform/http/body/byte-budget.ts'
import { listQuery, pageOf, positionOf } from '../../platform/http/list.ts'
import { sendJson } from '../../platform/json/send.ts'
import { parseMoney } from '../../platform/money.ts'
import { type JobStatus, STATUSES } from '../job.ts'
import { VideoList, videoView } from '../schema.ts'
import { isWalk, type JobFilter, listJobs } from './store.ts'

export const VIDEO_PAGE = { default: 20, max: 100 }
/** The last second of the year 9999: ids have no later ones. */
const SECOND_MAX = 253_402_300_799
const Second = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: SECOND_MAX, description: `${description}, in Unix seconds.` }))
/** The largest amounts are beyond those of the database. */
const AMOUNT = /^\d{1,10}(\.\d{1,8})?$/
const Amount = (description: string) => Type.Optional(Type.String({ maxLength: 32, description }))

const Query = Type.Object({
  ...listQuery(VIDEO_PAGE),
  status: Type.Optional(
    Type.String({
      maxLength: 256,
      description: `Only jobs with one of these, with commas between: ${STATUSES.join(', ')}.`,
    }),
  ),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'Only jobs of this video model.' })),
  user_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'Only jobs that this person has submitted.' }),
  ),
  created_after: Second('Only jobs created at this time or later'),
  created_before: Second('Only jobs created before this time'),
  cost_min: Amount('Only jobs that cost this much or more: a decimal.'),
  cost_max: Amount('Only jobs that cost this much or less: a decimal.'),
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'Only jobs with this text in their prompt, their name or a tag, in any case. A page looks at 5,000 jobs at most: it may have fewer elements than `limit`, or none, although `has_more` is true. Go on after `last_id`.',
    }),
  ),
  tag: Type.Optional(
    Type.String({ minLength: 1, maxLength: 50, description: 'Only jobs with this tag, in any case.' }),
  ),
  favorite: Type.Optional(
    Type.Literal(true, { description: 'Only favorites of the person who asks, or whose API key it is.' }),
  ),
})

/** What is in no index, and what all labels say, is looked for by one request of an organization at a time, and few of all. */
export const walkInTurn = openShares({ each: 1, all: 2 })

export const listVideos = route({
  auth: 'api_key_or_session',
  plain_400: true,
  method: 'GET',
  path: '/v1/videos',
  summary: 'List video jobs, newest first, all or by status, model, person, time, cost, text, tag and favorites',
  description: 'The jobs of your organization, a page at a time.',
  query: Query,
  response: VideoList,
  async handle(ctx, { principal: { org_id, user_id }, query, reply }) {
    const favorites = query.favorite && { favorite_of: user_id }
    const page = { ...positionOf('video', query, VIDEO_PAGE), ...filterOf(query), ...favorites, org_id }
    const { signal } = abortOnLeaving(reply)
    const lease = leaseForReading(ctx.budget, org_id, reply)
    const { jobs, walked_to } = await readWithRoom(lease, (bytes_max) => {
      const read = () => listJobs(ctx.db, { ...page, bytes_max })
      return isWalk(page) ? walkInTurn(org_id, read, signal) : read()
    })
    const list = pageOf(jobs, page.limit, videoView)
    return sendJson(reply, walked_to === null ? list : { ...list, last_id: walked_to, has_more: true })
  },
})

/** The filter that a checked query asks for. Throws ApiError `invalid_value` for an unknown status and what is no amount. */
function filterOf({ status, created_after, created_before, ...query }: Static<typeof Query>): JobFilter {
  const { model, user_id, search, tag } = query
  return {
    ...(status !== undefined && { statuses: statusesIn(status) }),
    ...(model !== undefined && { model }),
    ...(user_id !== undefined && { user_id }),
    ...(created_after !== undefined && { since: new Date(created_after * 1000) }),
    ...(created_before !== undefined && { before: new Date(created_before * 1000) }),
    ...(query.cost_min !== undefined && { cost_min: amountIn('cost_min', query.cost_min) }),
    ...(query.cost_max !== undefined && { cost_max: amountIn('cost_max', query.cost_max) }),
    ...(search !== undefined && { search }),
    ...(tag !== undefined && { tag }),
  }
}

function statusesIn(text: string): JobStatus[] {
  const statuses = text.split(',').map((each) => each.trim())
  const wrong = statuses.find((each) => !STATUSES.includes(each as JobStatus))
  if (wrong === undefined) return [...new Set(statuses)] as JobStatus[]
  const known = STATUSES.map((each) => `'${each}'`).join(', ')
  const message = `Invalid value: '${wrong.slice(0, 64)}'. Supported values are: ${known}, one or several with commas between.`
  throw new ApiError('invalid_value', message, { param: 'status' })
}

function amountIn(param: string, text: string): bigint {
  if (AMOUNT.test(text)) return parseMoney(text)!
  const message = `Invalid '${param}': expected a decimal with at most 10 digits before the point and 8 after it, such as '0.50'.`
  throw new ApiError('invalid_value', message, { param })
}
