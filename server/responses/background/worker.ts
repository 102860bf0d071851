import type { Context } from '../../context.ts'
import { isDatabaseDown } from '../../platform/db/db.ts'
import { startWorker } from '../../platform/queue/worker.ts'
import type { ResponseDeps } from '../call.ts'
import { RESPONSE_CANCEL_TOPIC, RESPONSE_QUEUE } from '../queues.ts'
import { CANCELLED, type OpenRun, runQueued } from './answer.ts'
import { type ClaimedResponse, releaseResponses, responseClaims } from './claims.ts'
import { ClaimLost } from './record-events.ts'

/** How long runs under way may go on when the service stops; then they are handed back, and begin anew elsewhere. */
const STOP_SECONDS = { finish: 20, abort: 20 }

export type BackgroundResponses = { stop(): Promise<void> }

/** Runs background responses as they become due. `sole` says that no other worker can be alive on this database. */
export function startResponses(
  ctx: Context,
  deps: ResponseDeps & { open: OpenRun },
  options: { sole: boolean; concurrency: number; stop_seconds?: number },
): BackgroundResponses {
  const { db, clock, changes } = ctx
  const { sole, concurrency, stop_seconds: finish = STOP_SECONDS.finish } = options
  const worker = startWorker<ClaimedResponse>({
    ...{ db, clock, changes, queue: RESPONSE_QUEUE, claims: responseClaims, concurrency, sole },
    stop_seconds: { ...STOP_SECONDS, finish },
    run: (claimed, signal) => run(ctx, deps, claimed, signal),
    // A stop of the service is no fault of the response.
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

async function run(
  ctx: Context,
  deps: ResponseDeps & { open: OpenRun },
  claimed: ClaimedResponse,
  signal: AbortSignal,
): Promise<null> {
  try {
    await runQueued(ctx, deps, claimed, signal)
  } catch (error) {
    // Another worker has it, or it has ended.
    if (!(error instanceof ClaimLost)) throw error
  }
  return null
}
