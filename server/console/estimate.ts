import type { Static } from 'typebox'
import { entitledVideoModel } from '../catalog/entitlements.ts'
import { type Endpoint, endpoint } from '../identity/caller/endpoint.ts'
import { freshCache } from '../platform/fresh-cache.ts'
import { findRenderTimes, type Quantiles, type RenderTimes } from '../videos/store.ts'
import { EstimateQuery, EstimateView } from './schema.ts'

/** The last renders that an estimate is made of. Fewer than the least would say little, and might say it of somebody in particular. */
const RENDERS = { least: 5, most: 50 }
/** How long an estimate is kept. There is one for each model, length and size. */
const KEPT = { ttl_ms: 60_000, entries_max: 1000 }

/** How long videos have taken lately, whoever made them: nothing but these figures is said of other organizations. */
export function estimateEndpoint(): Endpoint {
  const kept = freshCache<RenderTimes>({ ...KEPT, now_ms: () => performance.now() })
  return endpoint({
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
      const times = (await kept.find(key, () => findRenderTimes(ctx.db, wanted)))!
      const known = times.count >= RENDERS.least
      return {
        ...{ object: 'video_estimate', model, seconds, aspect_ratio },
        total_seconds: known ? spread(times.total) : null,
        waiting_seconds: known ? spread(times.waiting) : null,
      } satisfies Static<typeof EstimateView>
    },
  })
}

function spread([low, typical, high]: Quantiles) {
  return { typical: Math.round(typical), low: Math.round(low), high: Math.round(high) }
}
