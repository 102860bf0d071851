import { isRecord } from '../../../platform/json/record.ts'
import type { RenderRequest } from '../contract.ts'
import { isRenderId, type RenderView } from './render-view.ts'

/** One page of the engine's renders, newest first. */
export type ListPage = { views: unknown[]; has_more: boolean }

/**
 * Looks through the engine's renders, newest first, for those that may be this request's: begun since, same model and length, and the
 * same prompt or seed. `complete` says that a render of this request would have been recognized.
 */
export async function findCandidates(
  request: RenderRequest,
  since: Date,
  readPage: (after: string | null) => Promise<ListPage>,
): Promise<{ views: RenderView[]; complete: boolean }> {
  const earliest = Math.floor(since.getTime() / 1000) - CLOCK_TOLERANCE_SECONDS
  const found = new Map<string, RenderView>()
  const seen = new Set<string>()
  let recognizable = true
  let after: string | null = null
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const { views, has_more } = await readPage(after)
    const fresh = views.filter(isView).filter(({ id }) => !seen.has(id))
    for (const view of fresh) {
      seen.add(view.id)
      const match = matches(view, request, earliest)
      if (match === true) found.set(view.id, view)
      if (match === null) recognizable = false
    }
    const last = fresh.at(-1)
    const reached = last !== undefined && typeof last.created_at === 'number' && last.created_at < earliest
    const whole = fresh.length === views.length
    if (reached || !has_more) return { views: [...found.values()], complete: recognizable && whole }
    if (last === undefined) break
    after = last.id
  }
  return { views: [...found.values()], complete: false }
}

/** A request's render by its seed: nobody else sends that one. */
export function hasSeed(view: RenderView, request: RenderRequest): boolean {
  return view.seed != null && Number(view.seed) === request.seed
}

/** Null when the view says too little to know. */
function matches(view: RenderView, request: RenderRequest, earliest: number): boolean | null {
  if (typeof view.created_at !== 'number') return null
  if (view.created_at < earliest) return false
  if (typeof view.model === 'string' && view.model !== request.model) return false
  if (view.seconds != null && Number(view.seconds) !== request.seconds) return false
  if (view.seed != null) return hasSeed(view, request)
  return view.prompt == null ? null : view.prompt === request.prompt
}

function isView(view: unknown): view is RenderView {
  return isRecord(view) && typeof view.id === 'string' && isRenderId(view.id)
}

/** Clocks of two machines in one network; too much only finds an earlier attempt of the same request. */
const CLOCK_TOLERANCE_SECONDS = 5
const PAGES_MAX = 20
