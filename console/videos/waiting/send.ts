import type { QueryClient } from '@tanstack/react-query'
import { type Failure, failureOf } from '../../api/failure.ts'
import { isNegative, subtract } from '../../api/money.ts'
import { paced } from '../../api/paced.ts'
import type { Balance } from '../../api/queries.ts'
import { randomId } from '../../api/random-id.ts'
import { request } from '../../api/request.ts'
import { type Session, shownOrganization } from '../../api/session.ts'
import type { VideoJob } from '../jobs/job.ts'
import { applyJobs } from '../jobs/job-cache.ts'
import { type Account, accountOf, clipsOf, readWaiting, type Waiting, withList } from './list.ts'

/** Asked this often at most, however many jobs end. */
const AGAIN_MS = 2000
/** Asked this often where nothing is heard. */
const PATIENCE_MS = 15_000
/** A request that hangs keeps the list from other tabs. */
const ANSWER_MS = 60_000
/** The service remembers keys for 24 hours; a later request would create a second job. */
const KEY_KNOWN_MS = 82_800_000

/** The code of a request that is not repeated: whether it created a job is not known, and its key no longer prevents a second one. */
export const MAY_BE_MADE = 'may_be_made'

/** Not asked before, after the rate limit was reached. */
let not_before_ms = 0

/** Sends what waits, one after another, as slots come free. Returns what ends it. */
export function sendAsSlotsComeFree(queries: QueryClient, account: Account): () => void {
  let ended = false
  const attempt = paced(() => {
    if (!ended && readWaiting(account).some(({ refusal }) => refusal === null)) void sendAll(queries, account)
  }, AGAIN_MS)
  const heldNow = () => queries.getQueryData<Balance>(['balance'])?.held ?? null
  let held = heldNow()
  const hear = queries.getQueryCache().subscribe(({ type, query }) => {
    if (type !== 'updated' || query.queryKey[0] !== 'balance') return
    const before = held
    held = heldNow()
    // A job has ended: a slot may be free.
    if (before !== null && held !== null && isNegative(subtract(held, before))) attempt.ask()
  })
  const timer = setInterval(attempt.ask, PATIENCE_MS)
  attempt.ask()
  return () => {
    ended = true
    attempt.stop()
    hear()
    clearInterval(timer)
  }
}

/** Creates the clips of a request, all or none, once for its key. */
export async function createClips(
  { key, request: body, count = 1, made_from }: Pick<Waiting, 'key' | 'request' | 'count' | 'made_from'>,
  signal?: AbortSignal,
): Promise<VideoJob[]> {
  const options = { headers: { 'idempotency-key': key }, signal }
  if (count === 1 && made_from === undefined)
    return [await request<VideoJob>('POST', '/v1/videos', { ...options, body })]
  const set = { ...options, body: { count, made_from, ...body } }
  return (await request<{ data: VideoJob[] }>('POST', '/console/videos/variations', set)).data
}

/** Sends until there is no slot, or nothing that waits. */
export async function sendAll(queries: QueryClient, account: Account): Promise<void> {
  while (Date.now() >= not_before_ms && (await sendOne(queries, account)));
}

/** Sends the first one that was not refused. Returns whether another may be sent after it. */
function sendOne(queries: QueryClient, account: Account): Promise<boolean> {
  return withList(
    account,
    async (change) => {
      const first = readWaiting(account).find(({ refusal }) => refusal === null)
      if (!first || !(await isSignedIn(account))) return false
      const { key } = first
      const set = (changed: Partial<Waiting>) =>
        change((list) => list.map((each) => (each.key === key ? { ...each, ...changed } : each)))
      const sent_at_ms = first.sent_at_ms ?? Date.now()
      if (Date.now() - sent_at_ms > KEY_KNOWN_MS) return set({ refusal: { status: 0, code: MAY_BE_MADE, param: null } })
      if (!set({ sent_at_ms })) return false
      try {
        const jobs = await createClips(first, AbortSignal.timeout(ANSWER_MS))
        const isRemoved = change((list) => list.filter((each) => each.key !== key))
        if (shownOrganization(queries) !== account.organization_id) return isRemoved
        applyJobs(queries, jobs)
        void queries.invalidateQueries({ queryKey: ['balance'] })
        return isRemoved
      } catch (error) {
        const { status, code, param, retry_at_ms } = failureOf(error)
        if (isTooMany({ param }))
          return change((list) => list.flatMap((each) => (each.key === key ? halvesOf(each) : each)))
        if (!passes({ status, code })) return set({ sent_at_ms: null, refusal: { status, code, param } })
        // The service looks for a job of this key before it counts slots, but after it counts requests.
        if (status === 429) set({ sent_at_ms: code === 'concurrency_limit_exceeded' ? null : first.sent_at_ms })
        if (code === 'rate_limit_exceeded') not_before_ms = retry_at_ms ?? 0
        return false
      }
    },
    { busy: false },
  )
}

/** Whether the plan has too few slots for all clips of a request to ever start together. */
export function isTooMany({ param }: Pick<Failure, 'param'>): boolean {
  return param === 'count'
}

/** The same clips as two requests, which have not been sent. */
function halvesOf(waiting: Waiting): Waiting[] {
  const half = Math.ceil(clipsOf(waiting) / 2)
  return [half, clipsOf(waiting) - half].map((count) => ({ ...waiting, key: randomId(), count, sent_at_ms: null }))
}

/** Whether the same request may be accepted later: there is no slot yet, or no answer. */
export function passes({ status, code }: Pick<Failure, 'status' | 'code'>): boolean {
  return (
    status === 0 ||
    status >= 500 ||
    status === 429 ||
    status === 408 ||
    status === 401 ||
    code === 'idempotency_in_progress'
  )
}

/** Another tab may have signed in somebody else, or switched the organization: this tab follows a little later. */
async function isSignedIn(account: Account): Promise<boolean> {
  const session = await request<Session>('GET', '/console/session', { signal: AbortSignal.timeout(ANSWER_MS) }).catch(
    () => null,
  )
  if (session === null) return false
  const now = accountOf(session)
  return now.user_id === account.user_id && now.organization_id === account.organization_id
}
