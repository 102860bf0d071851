import { isRecord } from '../../platform/json/record.ts'
import type { RecoverOptions, RenderRequest } from './contract.ts'
import { isRenderId } from './reply/view.ts'

/** A render as an engine lists it. `created_at` is in Unix seconds or milliseconds, or a date. */
export type ListedRender = Record<string, unknown> & { id: string }

/** One page of the engine's renders, newest first. */
export type ListPage = { views: unknown[]; has_more: boolean }

/** Whether a listed render is the request's; null when the view says too little to know. */
export type Match = (view: ListedRender) => boolean | null

/** A render that was found in the list, by its id. `certain` as in `Recovery`. */
export type ListRecovery = { id: string; certain: boolean } | 'several' | 'absent' | 'unknown'

/**
 * Renders this process started, by their attempts: found again by the same attempt, never taken for another's. Bounded; older ones no
 * longer match by time.
 */
export function startedRenders() {
  const started = new Map<string, { attempt_id: string; certain: boolean }>()
  return {
    /** `certain`: the engine named the render for this attempt, or it bears its mark. */
    remember(id: string, { attempt_id }: RenderRequest, certain = true): string {
      started.set(id, { attempt_id, certain })
      if (started.size > STARTED_MAX) started.delete(started.keys().next().value!)
      return id
    },
    has: (id: string) => started.has(id),
    of({ attempt_id }: RenderRequest): { id: string; certain: boolean } | null {
      const [id, own] = [...started].find(([, each]) => each.attempt_id === attempt_id) ?? []
      return id === undefined || own === undefined ? null : { id, certain: own.certain }
    },
  }
}
export type StartedRenders = ReturnType<typeof startedRenders>

type Search = RecoverOptions & {
  started: StartedRenders
  /** The render's `renderKey`. */
  keyOf(id: string): string
  /** Absent when the engine has no list. `after` is the last render of the page before. */
  readPage?: ((after: string | null) => Promise<ListPage>) | undefined
  match: Match
  /** The render bears a mark that is this attempt's alone. */
  isMarked(view: ListedRender): boolean
}

/** Looks for the render of an attempt among those this process started, then in the engine's list, leaving out what other jobs have. */
export async function recoverFromList(request: RenderRequest, search: Search): Promise<ListRecovery> {
  const { started, keyOf, taken, readPage, isMarked } = search
  // The engine had answered, but the host could not store the ticket.
  const own = started.of(request)
  if (own !== null && (await taken([keyOf(own.id)])).size === 0) return own
  if (readPage === undefined) return 'unknown'
  const { views, complete } = await findCandidates(search.since, readPage, search.match)
  const others = await taken(views.map(({ id }) => keyOf(id)))
  const free = views.filter(({ id }) => !others.has(keyOf(id)) && !started.has(id))
  const marked = free.filter(isMarked)
  const [view, ...more] = marked.length > 0 ? marked : free
  if (view === undefined) return complete ? 'absent' : 'unknown'
  if (more.length > 0) return 'several'
  const certain = marked.length > 0
  return { id: started.remember(view.id, request, certain), certain }
}

/**
 * Looks through the engine's renders, newest first, for those begun since that match. `complete` says that a render of this request
 * would have been recognized.
 */
async function findCandidates(
  since: Date,
  readPage: (after: string | null) => Promise<ListPage>,
  match: Match,
): Promise<{ views: ListedRender[]; complete: boolean }> {
  const earliest = Math.floor(since.getTime() / 1000) - CLOCK_TOLERANCE_SECONDS
  const found = new Map<string, ListedRender>()
  const seen = new Set<string>()
  let recognizable = true
  let after: string | null = null
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const { views, has_more } = await readPage(after)
    const fresh = views.filter(isListed).filter(({ id }) => !seen.has(id))
    for (const view of fresh) {
      seen.add(view.id)
      const matches = begunSince(view, earliest, match)
      if (matches === true) found.set(view.id, view)
      if (matches === null) recognizable = false
    }
    const last = fresh.at(-1)
    const oldest = last === undefined ? null : createdAt(last)
    const reached = oldest !== null && oldest < earliest
    const whole = fresh.length === views.length
    if (reached || !has_more) return { views: [...found.values()], complete: recognizable && whole }
    if (last === undefined) break
    after = last.id
  }
  return { views: [...found.values()], complete: false }
}

function begunSince(view: ListedRender, earliest: number, match: Match): boolean | null {
  const created = createdAt(view)
  if (created === null) return null
  return created < earliest ? false : match(view)
}

/** In Unix seconds. */
function createdAt({ created_at }: ListedRender): number | null {
  const date = typeof created_at === 'string' && !/^\d+$/.test(created_at) ? Date.parse(created_at) : Number(created_at)
  if (created_at == null || !Number.isFinite(date)) return null
  return date > MILLISECONDS_MIN ? date / 1000 : date
}

function isListed(view: unknown): view is ListedRender {
  return isRecord(view) && typeof view.id === 'string' && isRenderId(view.id)
}

/** Clocks of two machines in one network; too much only finds an earlier attempt of the same request. */
const CLOCK_TOLERANCE_SECONDS = 5
/** Seconds have fewer digits until the year 5138. */
const MILLISECONDS_MIN = 1e11
const PAGES_MAX = 20
const STARTED_MAX = 10_000
