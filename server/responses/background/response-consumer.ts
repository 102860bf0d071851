import { setTimeout as sleep } from 'node:timers/promises'
import type { LiveContext } from '../../context.ts'
import { EngineError } from '../../engines/engine-error.ts'
import { engineName } from '../../engines/measured.ts'
import { addSeconds, type Clock } from '../../platform/clock.ts'
import { isDatabaseDown } from '../../platform/db/db.ts'
import { backoffSeconds } from '../../platform/queue/backoff.ts'
import { DROPPED, startConsumer } from '../../platform/queue/consumer.ts'
import { takingTurnsAs } from '../../platform/turns.ts'
import type { ResponseDeps } from '../call.ts'
import { RESPONSE_CANCEL_TOPIC, RESPONSE_QUEUE } from '../stored/store/responses.ts'
import {
  type ClaimedResponse,
  releaseResponses,
  responseClaims,
  servedResponses,
  stillStored,
  uncountAttempt,
} from './claims.ts'
import { ClaimLost } from './event-recorder.ts'
import { CANCELLED, runClaimed } from './run-claimed.ts'

/** How long active runs may continue when the service stops; then they are released, and begin again on another consumer. */
const STOP_SECONDS = { finish: 20, abort: 20 }
/** Pause between two attempts to reach a database that is away. */
const DATABASE_SECONDS = 1

export type ResponseConsumer = { stop(): Promise<void> }

/**
 * Runs background responses as they become due, up to `share` of an organization at a time and twice as many of all: an organization alone
 * is not slowed down by what is kept free for others. `sole`: no other consumer can be alive on this database.
 */
export function startResponseConsumer(
  ctx: LiveContext,
  deps: ResponseDeps,
  options: { sole: boolean; consumer_id?: string | undefined; share: number; stop_seconds?: number },
): ResponseConsumer {
  const { db, clock, changes } = ctx
  const { sole, consumer_id, share, stop_seconds: finish = STOP_SECONDS.finish } = options
  const models = unreachableModels(clock)
  const lost = lostAttempts(ctx)
  const consumer = startConsumer<ClaimedResponse>({
    db,
    clock,
    changes,
    sole,
    consumer_id,
    queue: RESPONSE_QUEUE,
    claims: responseClaims(share),
    concurrency: share * 2,
    only: (now) => servedResponses(ctx, { now, without: new Set([...models.paused(), ...pausedByOperator(ctx)]) }),
    stop_seconds: { ...STOP_SECONDS, finish },
    async run(claimed, signal) {
      const began = performance.now()
      const use = ctx.use()
      try {
        const ended = await takingTurnsAs(claimed.org_id, () => runClaimed(use.ctx, deps, claimed, signal))
        models.report(claimed.model, ended?.put_off_by)
      } catch (error) {
        const isLost = error instanceof ClaimLost || signal.reason === DROPPED
        const isDown = isDatabaseDown(error)
        if (isDown) lost.databaseDown()
        if (isDown || isLost) await lost.settle(claimed, began)
        if (!isLost) throw error
      } finally {
        use.end()
      }
      return null
    },
    // An attempt that is interrupted by a stop of the service does not count.
    release: (rows, { stopping, not_before }) => releaseResponses(db, rows, { counts: !stopping, not_before }),
    on_error(error, claimed) {
      const isDown = isDatabaseDown(error)
      if (isDown) lost.databaseDown()
      const level = isDown ? 'warn' : 'error'
      if (claimed) ctx.log[level]('response_interrupted', { request_id: claimed.request_id, error })
      else ctx.log[level]('queue_failed', { error })
    },
  })
  const stopListening = changes.on(RESPONSE_CANCEL_TOPIC, (id) => {
    if (id !== null) consumer.abort(id, CANCELLED)
  })
  return {
    async stop() {
      lost.stop()
      await consumer.stop()
      stopListening()
    },
  }
}

/** Models whose responses wait until an operator lets them run again. */
function pausedByOperator({ config, switches }: Pick<LiveContext, 'config' | 'switches'>): string[] {
  return config.chat_models.flatMap(({ id }) => (switches.isPaused(engineName({ model: id, id: null })) ? [id] : []))
}

/**
 * Models whose engines cannot be reached from this process. To find that out again takes a slot for as long as the connection is tried, so
 * none of their responses is claimed until a pause is over, which grows each time.
 */
function unreachableModels(clock: Clock) {
  const models = new Map<string, { failures: number; until: Date }>()
  return {
    paused: () => new Set([...models].filter(([, { until }]) => until > clock.now()).map(([id]) => id)),
    /** How a run ended: what put it off, if anything did. */
    report(id: string, error: unknown) {
      const cause = (error as Error | undefined)?.cause
      if (!(cause instanceof EngineError) || cause.kind !== 'unreachable') return void models.delete(id)
      const { failures, until } = models.get(id) ?? { failures: 0, until: clock.now() }
      // Of those that were under way together one counts.
      if (until > clock.now()) return
      models.set(id, { failures: failures + 1, until: addSeconds(clock.now(), backoffSeconds(failures)) })
    },
  }
}

/** Takes back attempts that ended because the database was away; one whose process stood still counts. */
function lostAttempts({ db, log }: Pick<LiveContext, 'db' | 'log'>) {
  const stopping = new AbortController()
  let down_at = Number.NEGATIVE_INFINITY
  const databaseDown = () => {
    down_at = performance.now()
  }
  return {
    databaseDown,
    /** `began`: when the run began, by the monotonic clock. Resolves once the database has answered. */
    async settle(claimed: ClaimedResponse, began: number): Promise<void> {
      while (!stopping.signal.aborted) {
        try {
          // It may be away although nobody has noticed: a statement without an answer is given up late.
          if ((await stillStored(db, claimed)) && down_at >= began) await uncountAttempt(db, claimed)
          return
        } catch (error) {
          if (!isDatabaseDown(error))
            return log.error('response_interrupted', { request_id: claimed.request_id, error })
          databaseDown()
          await sleep(DATABASE_SECONDS * 1000, undefined, { signal: stopping.signal }).catch(() => {})
        }
      }
    },
    stop: () => stopping.abort(),
  }
}
