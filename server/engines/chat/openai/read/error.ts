import { EngineError, type EngineErrorKind } from '../../../engine-error.ts'
import { meaningOfCode, meaningOfText } from '../../../error-words.ts'
import { type ErrorDetail, errorDetail, printable, retryAfterSeconds } from '../../../reply-error.ts'
import type { ReadWords } from '../../server-words.ts'
import { readContextLength } from '../context-length.ts'
import { isAboutModel, isUnknownPath, paramOf } from './refusal.ts'

export type ReplyHeaders = Record<string, string | string[] | undefined>

/** The error behind a reply whose status is no success. Its message is ours alone: servers repeat prompts and their own names in theirs. */
export function statusFault(status: number, headers: ReplyHeaders, body: unknown, words?: ReadWords): EngineError {
  const detail = errorDetail(body)
  const engine_code = detail.code === String(status) ? undefined : printable(detail.code)
  const about = { reason: words?.(detail.message), engine_code }
  const tokens = contextLength(status, detail)
  if (tokens !== null)
    return new EngineError('context_length', 'The request is too long for the model.', { ...about, ...tokens })
  const said = `The model server answered with status ${status}.`
  if (isFiltered(status, detail)) return new EngineError('moderation', said, about)
  if (needsOperator(status, detail)) {
    const kind = status === 429 ? 'overloaded' : 'failed'
    return new EngineError(kind, said, { ...about, needs_operator: true })
  }
  // A refusal stays one: `too_many_images`, or Groq's `rate_limit_exceeded` with 413, would fail again.
  const isBusy = !REFUSALS.has(status) && meaningOfCode(detail.code) === 'busy'
  const kind = isBusy ? 'overloaded' : kindOfStatus(status)
  const retry_after_seconds = kind === 'overloaded' ? retryAfter(headers) : undefined
  const param = kind === 'rejected' ? paramOf(detail) : undefined
  return new EngineError(kind, said, { ...about, retry_after_seconds, param })
}

/** The error behind an error object where an answer, or its next piece, was expected. `begun`: part of the answer had come. */
export function errorObjectError(
  error: unknown,
  { begun, words }: { begun: boolean; words?: ReadWords | undefined },
): EngineError {
  const found = statusFault(statusOfError(error), {}, { error }, words)
  const { kind, tokens, reason, engine_code, param, needs_operator } = found
  const isLate = begun && (kind === 'rejected' || kind === 'context_length')
  return new EngineError(isLate ? 'failed' : kind, 'The model server reports an error.', {
    ...{ reason, engine_code, needs_operator },
    ...(!begun && { tokens, param }),
  })
}

function statusOfError(error: unknown): number {
  const { code, type } = errorDetail({ error })
  if (/^[1-5]\d\d$/.test(code)) return Number(code)
  const known = STATUS_OF_CODE.get(code) ?? STATUS_OF_CODE.get(type)
  if (known !== undefined) return known
  const meaning = meaningOfCode(code)
  return meaning === 'busy' ? 503 : meaning === 'permanent' ? 401 : meaning === 'moderation' ? 400 : 500
}

const STATUS_OF_CODE: ReadonlyMap<string, number> = new Map([
  ['rate_limit_exceeded', 429],
  ['rate_limit_error', 429],
  ['insufficient_quota', 429],
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

const REFUSALS: ReadonlySet<number> = new Set([400, 404, 413, 422])

/** Some servers report a request that is too long with status 500. */
function contextLength(status: number, { code, type, message, error }: ErrorDetail) {
  if (status !== 500 && !REFUSALS.has(status)) return null
  const { n_prompt_tokens, n_ctx } = error
  return readContextLength({ code: /context/.test(type) ? type : code, message, n_prompt_tokens, n_ctx })
}

/** Azure's `content_filter`, DashScope's `data_inspection_failed`, Zhipu's 1301 and others: the server's own filter refused the request. */
function isFiltered(status: number, { code, message }: ErrorDetail): boolean {
  if (status !== 403 && !REFUSALS.has(status)) return false
  return code === '1301' || meaningOfCode(code) === 'moderation' || FILTERED.test(message)
}

const FILTERED =
  /content (management|safety) policy|content[_ ]filter(ing|ed)?\b|data inspection failed|inappropriate content|不安全或敏感|敏感内容/i

function needsOperator(status: number, detail: ErrorDetail): boolean {
  if ([401, 402, 403].includes(status) || detail.code === 'insufficient_quota') return true
  if (status === 404 && isUnknownPath(detail)) return true
  if (!REFUSALS.has(status)) return false
  return [meaningOfCode(detail.code), meaningOfText(detail.message)].includes('permanent') || isAboutModel(detail)
}

function retryAfter(headers: ReplyHeaders): number | undefined {
  const ms = headers['retry-after-ms']
  if (typeof ms === 'string' && /^\d{1,9}(\.\d+)?$/.test(ms)) return Math.min(Number(ms) / 1000, 3600)
  return retryAfterSeconds(headers)
}
