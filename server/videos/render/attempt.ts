import type { JsonValue, Ticket } from '../../engines/video/contract.ts'

/** An attempt that has not ended, and how one ends. The check of the table has the same list. */
type AttemptState =
  /** The intent is written: the engine may have been asked. */
  | 'starting'
  /** The engine was asked and did not answer. */
  | 'unknown'
  | 'rendering'
  /** The engine says that the clip is finished; it is not stored yet. */
  | 'delivered'
  /** Refused, unreachable, or proven absent: nothing was begun, and the start is made again under the same number. */
  | 'not_begun'
  | 'failed'
  | 'lost'
  | 'canceled'
  | 'completed'
  /** Left behind: nobody will learn what became of it, or wants to. */
  | 'abandoned'

/** One start of a render. The row outlives its job. */
export type RenderAttempt = {
  /** The mark that engines with ids of our choice are given. */
  id: string
  job_id: string
  model: string
  /** Which start of its job it is, from 1. Not above 1: rows carried over from version 0.1.0. */
  number: number
  paid: boolean
  /** Of a model with several engines, the one that was asked. */
  engine: string | null
  /** Kind and addresses of that engine. */
  engine_address: string | null
  state: AttemptState
  ended_because: string | null
  start_key: string | null
  render_key: string | null
  ticket: Ticket
  output: JsonValue
  /** A word for the render's status that we do not know. */
  engine_status: string | null
  created_at: Date
  answered_at: Date | null
  delivered_at: Date | null
  missing_since: Date | null
  last_heard_at: Date | null
  ended_at: Date | null
}

type AttemptChanges = Partial<Omit<RenderAttempt, 'id' | 'job_id' | 'model' | 'number' | 'paid'>>

/** What changes of an attempt, given as it was. */
export type AttemptMove = { attempt: RenderAttempt; set: AttemptChanges }

/** A new attempt; it takes the row of the one it `replaces`, which has begun nothing. */
export type Begun = { attempt: RenderAttempt; replaces: string | null }

/** What a job may cost its operator, whatever its engines say. The check of the table says the same. */
export const PAID_STARTS_MAX = 2
/** Renders of embedded engines end with every restart of the service, and cost nobody. */
const FREE_STARTS_MAX = 21

/** The number of the job's next start. */
function nextNumber(last: RenderAttempt | null): number {
  if (last === null) return 1
  return last.state === 'not_begun' ? last.number : last.number + 1
}

/** Whether the job may be started once more after its last attempt, of which nothing will come. */
export function mayStartAgain(last: RenderAttempt, { embedded }: { embedded: boolean }): boolean {
  return nextNumber(last) <= (embedded ? FREE_STARTS_MAX : PAID_STARTS_MAX)
}

/**
 * Whether the job's next start has to be made on the engine of its last attempt: once a render has begun, or may have, the job stays with its
 * engine. The SQL of claims says the same.
 */
export function isBound(last: RenderAttempt | null): last is RenderAttempt {
  return last !== null && (last.state !== 'not_begun' || last.number > 1)
}

/** The attempt after the move. */
export function moved({ attempt, set }: AttemptMove): RenderAttempt {
  return { ...attempt, ...set }
}

/** The attempt as it ends. A start whose outcome nobody knows keeps its key only when its job ends with it. What an engine said of a clip goes. */
export function ends(
  attempt: RenderAttempt,
  { state, because, now }: { state: AttemptState; because: string; now: Date },
): AttemptMove {
  return { attempt, set: { state, ended_because: because, ended_at: now, start_key: null, output: null } }
}

/** What is written before the engine is asked. `asked`: the engine, and how its list shows the start. */
export function newAttempt(
  job: { id: string; model: string; attempt: RenderAttempt | null },
  asked: Pick<RenderAttempt, 'paid' | 'engine' | 'engine_address' | 'start_key'>,
  { id, now }: { id: string; now: Date },
): Begun {
  const last = job.attempt
  const attempt: RenderAttempt = {
    id,
    job_id: job.id,
    model: job.model,
    number: nextNumber(last),
    ...asked,
    state: 'starting',
    ended_because: null,
    render_key: null,
    ticket: null,
    output: null,
    engine_status: null,
    created_at: now,
    answered_at: null,
    delivered_at: null,
    missing_since: null,
    last_heard_at: null,
    ended_at: null,
  }
  return { attempt, replaces: last?.state === 'not_begun' ? last.id : null }
}
