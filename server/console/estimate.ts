import type { Static } from 'typebox'
import { entitledVideoModel } from '../catalog/entitlements.ts'
import { type Route, route } from '../identity/caller/route.ts'
import { freshCache } from '../platform/fresh-cache.ts'
import { findRenderTimes, type RenderTime } from '../videos/store.ts'
import { EstimateQuery, EstimateView } from './schema.ts'

/** The last renders that an estimate is made of; fewer than the least would say little. */
const RENDERS = { least: 5, most: 50 }
/** Of fewer organizations it would say how one in particular fares: then only the caller's own count. */
const ORGANIZATIONS_LEAST = 3
/** How long an estimate is kept. There is one for each model, length and size. */
const KEPT = { ttl_ms: 60_000, entries_max: 1000 }

/** How long videos have taken lately. Of other organizations nothing but these figures is shown. */
export function estimateRoute(): Route {
  const kept = freshCache<RenderTime[]>({ ...KEPT, now_ms: () => performance.now() })
  return route({
    method: 'GET',
    path: '/console/estimate',
    auth: 'session',
    summary: 'How long a video is likely to take',
    description: 'From the last 50 completed jobs of the model with this length and aspect ratio.',
    query: EstimateQuery,
    response: EstimateView,
    errors: ['model_not_found'],
    async handle(ctx, { principal, query }) {
      const { id: model } = entitledVideoModel(ctx.config, principal.plan, query.model)
      const { seconds, aspect_ratio } = query
      const key = JSON.stringify([model, seconds, aspect_ratio])
      const wanted = { model, seconds, aspect_ratio, limit: RENDERS.most }
      const last = (await kept.find(key, () => findRenderTimes(ctx.db, wanted)))!
      const organizations = new Set(last.map(({ org_id }) => org_id)).size
      const counted = last.filter(({ org_id }) => organizations >= ORGANIZATIONS_LEAST || org_id === principal.org_id)
      const spread = (of: 'total' | 'waiting') =>
        counted.length < RENDERS.least ? null : spreadOf(counted.map((each) => each[of]))
      return {
        object: 'video_estimate',
        model,
        seconds,
        aspect_ratio,
        total_seconds: spread('total'),
        waiting_seconds: spread('waiting'),
      } satisfies Static<typeof EstimateView>
    },
  })
}

/** The median, and what nine of ten exceed and stay below. */
function spreadOf(times: number[]): { typical: number; low: number; high: number } {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.round(share * (sorted.length - 1))]!)
  return { typical: at(0.5), low: at(0.1), high: at(0.9) }
}
