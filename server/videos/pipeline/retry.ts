import type { Context } from '../../context.ts'
import { EngineError } from '../../engines/engine-error.ts'
import type { LogFields } from '../../platform/log.ts'
import { backoffSeconds } from '../../platform/queue/backoff.ts'
import type { FailureCode, Outcome } from '../job.ts'

/** Pauses between the three tries of a check that fails closed. */
const PAUSES_SECONDS = [2, 8]

/** Another try of the step, or the failure when it was the third. */
export function tryAgain(job: { tries: number }, failure: FailureCode): Outcome {
  const pause = PAUSES_SECONDS[job.tries]
  if (pause === undefined) return { to: 'failed', code: failure }
  return { to: 'same', retry_after_seconds: pause, set: { tries: job.tries + 1 } }
}

/** The outcome with its wait cut to `left_seconds`, the time until a limit: no engine can ask for a longer wait. */
export function notAfter(left_seconds: number, outcome: Outcome): Outcome {
  if (outcome.to !== 'same') return outcome
  return { ...outcome, retry_after_seconds: Math.min(outcome.retry_after_seconds, left_seconds) }
}

export function secondsSince(ctx: Pick<Context, 'clock'>, since: Date): number {
  return (ctx.clock.now().getTime() - since.getTime()) / 1000
}

/** The code with which a render fails for this error of its engine; null when another try may succeed. */
export function renderFailure({ kind, subject }: EngineError): FailureCode | null {
  switch (kind) {
    case 'moderation':
      return 'moderation_blocked'
    case 'rejected':
    case 'context_length':
      return subject ? 'invalid_reference_media' : 'render_failed'
    case 'permanent':
      return 'render_failed'
    case 'transient':
    case 'overloaded':
    case 'unreachable':
    case 'timeout':
    case 'failed':
      return null
  }
}

/** The fields of an engine's error that may be logged. */
export function describeFault(error: unknown): LogFields {
  if (!(error instanceof EngineError)) return { error }
  return { code: error.kind, engine_code: error.engine_code, detail: error.message }
}

/** A failed call says nothing about the render: polling goes on, with backoff, until the render's time limit. */
export function keepPolling(ctx: Pick<Context, 'log'>, job: { id: string; tries: number }, error: unknown): Outcome {
  const alarming = !(error instanceof EngineError) || error.kind === 'permanent'
  ctx.log[alarming ? 'error' : 'warn']('poll_failed', { video_id: job.id, ...describeFault(error) })
  return { to: 'same', retry_after_seconds: backoffSeconds(job.tries + 1, error), set: { tries: job.tries + 1 } }
}

/** Why a start ended, for the row and for the log: words of ours, and the engine's own code. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (!(error instanceof EngineError)) return error.name
  return [error.kind, error.engine_code, error.message]
    .filter((part) => part !== undefined)
    .join(': ')
    .slice(0, 300)
}
