import type { LiveContext } from '../../context.ts'
import { isDatabaseDown } from '../../platform/db/db.ts'
import { startWorker } from '../../platform/queue/worker.ts'
import { takingTurnsAs } from '../../platform/turns.ts'
import type { ResponseDeps } from '../call.ts'
import { RESPONSE_CANCEL_TOPIC, RESPONSE_QUEUE } from '../stored/store/responses.ts'
import { type ClaimedResponse, releaseResponses, responseClaims, servedResponses } from './claims.ts'
import { ClaimLost } from './event-recorder.ts'
import { CANCELLED, runClaimed } from './run-claimed.ts'

/** How long active runs may continue when the service stops; then they are released, and begin again on another worker. */
const STOP_SECONDS = { finish: 20, abort: 20 }

export type ResponseWorker = { stop(): Promise<void> }

/**
 * Runs background responses as they become due, up to `share` of an organization at a time and twice as many of all: an organization alone
 * is not slowed down by what is kept free for others. `sole`: no other worker can be alive on this database.
 */
export function startResponseWorker(
  ctx: LiveContext,
  deps: ResponseDeps,
  options: { sole: boolean; worker_id?: string | undefined; share: number; stop_seconds?: number },
): ResponseWorker {
  const { db, clock, changes } = ctx
  const { sole, worker_id, share, stop_seconds: finish = STOP_SECONDS.finish } = options
  const worker = startWorker<ClaimedResponse>({
    ...{ db, clock, changes, sole, worker_id, queue: RESPONSE_QUEUE },
    ...{ claims: responseClaims(share), concurrency: share * 2 },
    only: (now) => servedResponses(ctx, now),
    stop_seconds: { ...STOP_SECONDS, finish },
    async run(claimed, signal) {
      const use = ctx.use()
      await takingTurnsAs(claimed.org_id, () => runClaimed(use.ctx, deps, claimed, signal))
        .catch((error: unknown) => {
          if (!(error instanceof ClaimLost)) throw error
        })
        .finally(use.end)
      return null
    },
    // An attempt that is interrupted by a stop of the service does not count.
    release: (rows, { stopping, not_before }) => releaseResponses(db, rows, { counts: !stopping, not_before }),
    on_error(error, claimed) {
      const level = isDatabaseDown(error) ? 'warn' : 'error'
      if (claimed) ctx.log[level]('response_interrupted', { request_id: claimed.request_id, error })
      else ctx.log[level]('queue_failed', { error })
    },
  })
  const stopListening = changes.on(RESPONSE_CANCEL_TOPIC, (id) => {
    if (id !== null) worker.abort(id, CANCELLED)
  })
  return {
    async stop() {
      await worker.stop()
      stopListening()
    },
  }
}
