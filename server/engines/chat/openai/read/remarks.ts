import { EngineError } from '../../../engine-error.ts'
import { type ErrorDetail, errorDetail } from '../../../reply-error.ts'
import type { ReadWords } from '../../server-words.ts'
import { errorObjectError } from './error.ts'

/** What a server says in objects that are no part of an answer: what it is doing, or in any form such as `{code, message}` an error. */
export type Remarks = {
  read(object: Record<string, unknown>): void
  /** The answer has gone on. */
  answered(): void
  any(): boolean
  /** Whether the last thing that came was an error, so that no more will come. */
  endWithError(): boolean
  /** The error that the server gave in place of the rest, or else `fault`, with what it said before. `begun`: part of the answer had come. */
  faultOr(fault: EngineError, about: { begun: boolean }): EngineError
}

export function readRemarks(words: ReadWords | undefined): Remarks {
  /** The last error, or else the last that says anything. */
  let last: { object: unknown; is_error: boolean } | null = null
  let endWithError = false
  return {
    read(object) {
      const detail = errorDetail(object)
      const is_error = saysError(detail)
      endWithError ||= is_error
      if (is_error || (detail.message !== '' && !last?.is_error)) last = { object, is_error }
    },
    answered() {
      last = null
      endWithError = false
    },
    any: () => last !== null,
    endWithError: () => endWithError,
    faultOr(fault, { begun }) {
      if (last === null) return fault
      const error = errorObjectError(last.object, { begun, words })
      if (last.is_error || error.kind !== 'failed') return error
      return new EngineError(fault.kind, fault.message, { reason: error.reason })
    },
  }
}

/** Whether an object says that something failed, and not only what is going on. */
export function saysError({ status, layers }: ErrorDetail): boolean {
  return status !== null || layers.some(isFailed)
}

function isFailed(layer: ReadonlyMap<string, unknown>): boolean {
  const isIn = (name: string) => isFault(layer.get(name))
  return layer.get('success') === false || FAULTS.some(isIn) || STATES.some((name) => FAILED.test(`${layer.get(name)}`))
}

/** Members, without case and punctuation, that are missing or empty, or say so, where nothing went wrong. */
const FAULTS = ['code', 'errorcode', 'errcode', 'statuscode', 'errormessage', 'errormsg', 'errmsg', 'errors', 'detail']
const STATES = ['type', 'status', 'errortype']
const FAILED = /error|fail|exception/i
const WELL =
  /^(0*|[12]\d\d|20000|ok|true|none|success\w*|(in_?)?progress|processing|pending|queued|running|loading|waiting|accepted|started)$/i

/** Whether the value of a member says that something went wrong. */
export function isFault(value: unknown): boolean {
  if (typeof value === 'string' || typeof value === 'number') return !WELL.test(`${value}`)
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}
