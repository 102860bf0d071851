import { asRecord } from '../../../../platform/json/record.ts'
import { EngineError, type EngineErrorKind } from '../../../engine-error.ts'
import { retryAfterSeconds } from '../../../reply-error.ts'
import { readContextLength } from '../context-length.ts'

export type ReplyHeaders = Record<string, string | string[] | undefined>

/** The error behind a reply whose status is not 200. Its message is ours alone: servers repeat prompts and their own names in theirs. */
export function statusError(status: number, headers: ReplyHeaders, body: unknown): EngineError {
  const tooLong = contextLengthError(status, body)
  if (tooLong !== null) return tooLong
  const kind = kindOfStatus(status)
  const retry_after_seconds = kind === 'overloaded' ? retryAfter(headers) : undefined
  return new EngineError(kind, `The model server answered with status ${status}.`, { retry_after_seconds })
}

/** The error behind an error object where an answer, or its next piece, was expected. `begun`: part of the answer had come. */
export function errorObjectError(error: unknown, begun: boolean): EngineError {
  const { code } = errorDetail({ error })
  const status = /^[1-5]\d\d$/.test(code) ? Number(code) : (STATUS_OF_CODE.get(code) ?? 500)
  const { kind, message, tokens } = statusError(status, {}, { error })
  if (kind === 'context_length' && !begun) return new EngineError(kind, message, { tokens })
  return new EngineError(begun && (kind === 'rejected' || kind === 'context_length') ? 'failed' : kind, REPORTED)
}

/** Whether the operator has to act before any request can succeed: credentials refused, or nothing left to spend at the provider. */
export function needsOperator(status: number, body: unknown): boolean {
  return [401, 402, 403].includes(status) || errorDetail(body).code === 'insufficient_quota'
}

const REPORTED = 'The model server reports an error.'

const STATUS_OF_CODE: ReadonlyMap<string, number> = new Map([
  ['rate_limit_exceeded', 429],
  ['rate_limit_error', 429],
  ['insufficient_quota', 429],
  ['overloaded', 503],
  ['overloaded_error', 503],
  ['engine_overloaded', 503],
  ['server_is_overloaded', 503],
  ['unavailable_error', 503],
  ['service_unavailable', 503],
  ['timeout', 504],
  ['context_length_exceeded', 400],
  ['exceed_context_size_error', 400],
  ['invalid_request_error', 400],
  ['BadRequestError', 400],
  ['authentication_error', 401],
])

function kindOfStatus(status: number): EngineErrorKind {
  switch (status) {
    case 400:
    case 404:
    case 413:
    case 422:
      return 'rejected'
    case 408:
    case 504:
      return 'timeout'
    case 429:
    case 503:
    case 529:
      return 'overloaded'
    default:
      return 'failed'
  }
}

/** Some servers report a request that is too long with status 500. */
function contextLengthError(status: number, body: unknown): EngineError | null {
  if (![400, 413, 422, 500].includes(status)) return null
  const { code, type, message, n_prompt_tokens, n_ctx } = errorDetail(body)
  const known = /context/.test(type) ? type : code
  const found = readContextLength({ code: known, message, n_prompt_tokens, n_ctx })
  if (found === null) return null
  return new EngineError('context_length', 'The request is too long for the model.', { tokens: found.tokens })
}

/** `{error: {code, type, message}}`, `{error: "text"}`, vLLM's and SGLang's `{object: "error", code, message}`, FastAPI's `{detail}`. */
function errorDetail(body: unknown) {
  const outer = asRecord(body) ?? {}
  const inner = asRecord(outer.error) ?? (typeof outer.error === 'string' ? { message: outer.error } : outer)
  const type = text(inner.type)
  return {
    code: text(inner.code) || type,
    type,
    message: (text(inner.message) || text(inner.detail)).slice(0, MESSAGE_MAX),
    n_prompt_tokens: inner.n_prompt_tokens,
    n_ctx: inner.n_ctx,
  }
}

/** Patterns are matched against this much of a message. */
const MESSAGE_MAX = 2000

function retryAfter(headers: ReplyHeaders): number | undefined {
  const ms = headers['retry-after-ms']
  if (typeof ms === 'string' && /^\d{1,9}(\.\d+)?$/.test(ms)) return Math.min(Number(ms) / 1000, 3600)
  return retryAfterSeconds(headers)
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
