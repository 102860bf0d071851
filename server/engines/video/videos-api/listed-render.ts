import type { RenderRequest } from '../contract.ts'
import type { ListedRender } from '../recover-from-list.ts'

/** A request's render by its seed: nobody else sends that one. */
export function hasSeedOfRequest(view: ListedRender, request: RenderRequest): boolean {
  return view.seed != null && Number(view.seed) === request.seed
}

/** A render with the same model and length, and the same prompt or seed. Null when the view shows neither. */
export function isRenderOf(view: ListedRender, request: RenderRequest): boolean | null {
  if (typeof view.model === 'string' && view.model !== request.model) return false
  if (view.seconds != null && Number(view.seconds) !== request.seconds) return false
  if (view.seed != null) return hasSeedOfRequest(view, request)
  return view.prompt == null ? null : view.prompt === request.prompt
}
