import type { QueryClient } from '@tanstack/react-query'
import { type Failure, failureOf } from '../../api/failure.ts'
import { paced } from '../../api/paced.ts'
import { request } from '../../api/request.ts'
import { type Session, shownOrganization } from '../../api/session.ts'
import type { VideoJob } from '../jobs/job.ts'
import { applyJob } from '../jobs/job-cache.ts'
import { type Account, accountOf, readWaiting, withList } from './list.ts'

/** Jobs that end change the balance, which every page hears of: a slot may be free. Asked this often at most. */
const AGAIN_MS = 2000
/** Asked this often where nothing is heard. */
const PATIENCE_MS = 15_000

/** Sends what waits, one after another, as slots come free. Returns what ends it. */
export function sendAsSlotsComeFree(queries: QueryClient, account: Account): () => void {
  let ended = false
  const attempt = paced(() => {
    if (!ended && readWaiting(account).some(({ refusal }) => refusal === null)) void sendAll(queries, account)
  }, AGAIN_MS)
  const hear = queries.getQueryCache().subscribe(({ type, query }) => {
    if (type === 'updated' && query.queryKey[0] === 'balance') attempt.ask()
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

/** Sends until there is no slot, or nothing that waits. */
export async function sendAll(queries: QueryClient, account: Account): Promise<void> {
  while (await sendOne(queries, account));
}

/** Sends the first one that was not refused. Returns whether another may be sent after it. */
function sendOne(queries: QueryClient, account: Account): Promise<boolean> {
  return withList(
    account,
    async (write) => {
      const first = readWaiting(account).find(({ refusal }) => refusal === null)
      if (!first || !(await isSignedIn(account))) return false
      const others = () => readWaiting(account).filter(({ key }) => key !== first.key)
      try {
        const headers = { 'idempotency-key': first.key }
        const job = await request<VideoJob>('POST', '/v1/videos', { body: first.request, headers })
        write(others())
        if (shownOrganization(queries) !== account.organization_id) return true
        applyJob(queries, job)
        void queries.invalidateQueries({ queryKey: ['balance'] })
        return true
      } catch (error) {
        const { status, code, param } = failureOf(error)
        if (passes({ status, code })) return false
        write(
          readWaiting(account).map((each) =>
            each.key === first.key ? { ...first, refusal: { status, code, param } } : each,
          ),
        )
        return true
      }
    },
    { busy: false },
  )
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
  const session = await request<Session>('GET', '/console/session').catch(() => null)
  if (session === null) return false
  const now = accountOf(session)
  return now.user_id === account.user_id && now.organization_id === account.organization_id
}
