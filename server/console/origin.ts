import { type Route, route } from '../identity/caller/route.ts'
import { notFound } from '../platform/errors.ts'
import { isId } from '../platform/ids.ts'
import { findOrigin } from '../videos/store.ts'
import { VideoOrigin } from './schema.ts'

/** Where a video comes from, and what was made from it: the links between the attempts of a person. */
export const readOrigin: Route = route({
  method: 'GET',
  path: '/console/videos/:video_id/origin',
  auth: 'session',
  summary: 'What a video was made from, and the newest one made from it',
  description: 'As `made_from` of `POST /console/videos/variations` said. What is gone is null.',
  response: VideoOrigin,
  async handle(ctx, { principal, params }) {
    const { video_id: id } = params as { video_id: string }
    const origin = isId('video', id) ? await findOrigin(ctx.db, { org_id: principal.org_id, id }) : null
    if (!origin) throw notFound('video')
    return { id, object: 'video_origin', ...origin }
  },
})
