import { findFileMakers } from '../files/store/files.ts'
import { type Route, route } from '../identity/caller/route.ts'
import { findNames } from '../identity/people/store.ts'
import { ApiError } from '../platform/errors.ts'
import { findSubmitters } from '../videos/list/store.ts'
import { findVideoMakers } from '../videos/store.ts'
import { MakerList, MakersQuery, SubmitterList } from './schema.ts'

const IDS_MAX = 200
const SUBMITTERS_MAX = 500

/** Who made videos and files, by their ids: what the console shows beside them. */
export const readMakers: Route = route({
  method: 'GET',
  path: '/console/makers',
  auth: 'session',
  summary: 'Who made these videos and files of this organization',
  description: 'What is gone, or another organization’s, is left out.',
  query: MakersQuery,
  response: MakerList,
  async handle(ctx, { principal, query }) {
    const ids = [...new Set(query.ids.split(','))]
    if (ids.length > IDS_MAX) throw new ApiError('invalid_value', `At most ${IDS_MAX} ids at once.`, { param: 'ids' })
    const wanted = { org_id: principal.org_id, ids }
    const [videos, files] = await Promise.all([findVideoMakers(ctx.db, wanted), findFileMakers(ctx.db, wanted)])
    const made = [...videos, ...files]
    const names = await findNames(
      ctx.db,
      made.map(({ user_id }) => user_id),
    )
    return {
      object: 'list',
      data: made.map(({ id, user_id }) => ({ id, object: 'maker', user_id, name: names.get(user_id) ?? null })),
    }
  },
})

/** Whose videos there are: what the console offers as a filter. */
export const readSubmitters: Route = route({
  method: 'GET',
  path: '/console/videos/submitters',
  auth: 'session',
  summary: 'Who has submitted the videos of this organization',
  description: 'People whose videos are still there, at most 500 of them.',
  response: SubmitterList,
  async handle(ctx, { principal }) {
    const ids = await findSubmitters(ctx.db, principal.org_id, SUBMITTERS_MAX)
    const names = await findNames(ctx.db, ids)
    return { object: 'list', data: ids.map((id) => ({ id, object: 'submitter', name: names.get(id) ?? null })) }
  },
})
