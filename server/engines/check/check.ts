import assert from 'node:assert/strict'
import { EngineError } from '../engine-error.ts'

/**
 * One promise of an engine, as tests check it on every adapter and `kinora engines check` on an operator's engines. `must`: without it the
 * service fails its clients; `should`: it works, with the loss that the finding names. `starts`: what it starts at the engine, which a hosted one bills.
 */
export type Check<S> = {
  title: string
  level: 'must' | 'should'
  starts: 'nothing' | 'a call' | 'a render' | 'a render for each kind of input'
  /** Resolves with what was seen, where that helps a reader. Throws NotApplicable, or anything else when the promise does not hold. */
  run(subject: S, signal: AbortSignal): Promise<string | undefined>
}

/** The subject does not promise what is checked; the message says why. */
export class NotApplicable extends Error {
  override name = 'NotApplicable'
}

/** `skipped`: not applicable. `seconds` is how long it took. */
export type Finding = {
  title: string
  level: 'must' | 'should'
  outcome: 'holds' | 'fails' | 'skipped'
  detail: string
  seconds: number
}

/** Runs one check, for so many seconds at most. Throws the reason of `signal` when that ended it, and nothing else. */
export async function runCheck<S>(
  check: Check<S>,
  subject: S,
  { signal, seconds }: { signal: AbortSignal; seconds: number },
): Promise<Finding> {
  const { title, level } = check
  const began = performance.now()
  const limit = AbortSignal.timeout(seconds * 1000)
  const finding = (outcome: Finding['outcome'], detail: string): Finding => ({
    title,
    level,
    outcome,
    detail,
    seconds: Math.round(performance.now() - began) / 1000,
  })
  try {
    return finding('holds', (await check.run(subject, AbortSignal.any([signal, limit]))) ?? '')
  } catch (error) {
    signal.throwIfAborted()
    if (limit.aborted) return finding('fails', `it was not done after ${seconds} seconds`)
    if (error instanceof NotApplicable) return finding('skipped', error.message)
    return finding('fails', describeFailure(error))
  }
}

/** In words, without prompts, URLs or credentials, which no message of an EngineError holds. */
export function describeFailure(error: unknown): string {
  if (error instanceof EngineError) {
    const code = error.engine_code === undefined ? '' : ` (${error.engine_code})`
    return `${error.public_message ?? error.message} [${error.kind}]${code}`
  }
  if (!(error instanceof Error)) return String(error)
  return error.message.split('\n', 1)[0]!
}

/** Throws unless the promise rejects with an EngineError that `is`. `what` names the call. */
export async function refuses(
  call: Promise<unknown>,
  what: string,
  is: (error: EngineError) => boolean = () => true,
): Promise<EngineError> {
  const outcome = await call.then(
    () => null,
    (error: unknown) => error,
  )
  assert.ok(outcome !== null, `${what} was accepted`)
  assert.ok(
    outcome instanceof EngineError,
    `${what} failed with ${describeFailure(outcome)}, not with an error of engines`,
  )
  assert.ok(is(outcome), `${what} was refused as ${outcome.kind}: ${outcome.message}`)
  return outcome
}
