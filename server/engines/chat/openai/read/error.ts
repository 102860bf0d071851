import { retryAfterSeconds } from '../../../../platform/outbound/retry-after.ts'
import { EngineError, type EngineErrorKind } from '../../../engine-error.ts'
import { meaningOfCode, meaningOfText } from '../../../error-words.ts'
import { type ErrorDetail, errorDetail, printable } from '../../../reply-error.ts'
import type { ReadWords } from '../../server-words.ts'
import { readContextLength } from '../context-length.ts'
import { refusedForm } from '../form/refused-form.ts'
import { isAboutModel, isAboutRequest, paramOf } from './refusal.ts'

export type ReplyHeaders = Record<string, string | string[] | undefined>

/** The error behind a reply whose status is no success. Its message is ours alone: servers repeat prompts and their own names in theirs. */
export function statusFault(status: number, headers: ReplyHeaders, body: unknown, words?: ReadWords): EngineError {
  return faultOf(status, headers, complaintIn(body, words))
}

/** The error behind an error object where an answer, or its next piece, was expected. `begun`: part of the answer had come. */
export function errorObjectError(
  error: unknown,
  { begun, words }: { begun: boolean; words?: ReadWords | undefined },
): EngineError {
  const complaint = complaintIn({ error }, words)
  const { kind, tokens, reason, engine_code, param, refused_form, needs_operator } = faultOf(
    statusMeant(complaint),
    {},
    complaint,
  )
  const isLate = begun && (kind === 'rejected' || kind === 'context_length')
  return new EngineError(isLate ? 'failed' : kind, 'The model server reports an error.', {
    reason,
    engine_code,
    needs_operator,
    ...(!begun && { tokens, param, refused_form }),
  })
}

/** The status that an error in the place of an answer means. */
export function statusOfError(body: unknown): number {
  return statusMeant(complaintIn(body, undefined))
}

/** What a server says of an error: its `message` is without the request's own texts, `reason` is the message as it may be logged. */
type Complaint = ErrorDetail & { reason: string | undefined }

function complaintIn(body: unknown, words: ReadWords | undefined): Complaint {
  const detail = errorDetail(body)
  const said = words?.(detail.message)
  return { ...detail, message: said?.own ?? detail.message, reason: said?.reason }
}

function faultOf(status: number, headers: ReplyHeaders, complaint: Complaint): EngineError {
  const { code, reason } = complaint
  const about = { reason, engine_code: code === String(status) ? undefined : printable(code) }
  const tokens = contextLength(status, complaint)
  if (tokens !== null)
    return new EngineError('context_length', 'The request is too long for the model.', { ...about, ...tokens })
  const said = `The model server answered with status ${status}.`
  if (isFiltered(status, complaint)) return new EngineError('moderation', said, about)
  if (needsOperator(status, complaint)) {
    const kind = kindOfStatus(status) === 'overloaded' ? 'overloaded' : 'failed'
    return new EngineError(kind, said, { ...about, needs_operator: true })
  }
  if (MISWRITTEN.has(code)) return new EngineError('failed', said, about)
  // A refusal stays one: `too_many_images`, or Groq's `rate_limit_exceeded` with 413, would fail again.
  const isBusy = !REFUSALS.has(status) && (meaningOfCode(code) === 'busy' || isBusyInWords(status, complaint))
  const kind = isBusy ? 'overloaded' : kindOfStatus(status)
  const retry_after_seconds = kind === 'overloaded' ? retryAfterSeconds(headers) : undefined
  const refused = kind === 'rejected' && { param: paramOf(complaint), refused_form: refusedForm(complaint) }
  return new EngineError(kind, said, { ...about, retry_after_seconds, ...refused })
}

function statusMeant(complaint: Complaint): number {
  const { code, type, status, message } = complaint
  const known = status ?? STATUS_OF_CODE.get(code) ?? STATUS_OF_CODE.get(type)
  if (known !== undefined) return known
  const meanings = [meaningOfCode(code), meaningOfText(message)]
  if (meanings[0] === 'moderation' || FILTERED.test(message)) return 400
  if (meanings.includes('permanent') || isAboutModel(complaint)) return 401
  return meanings.includes('busy') ? 503 : 500
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

/** Groq's codes for what the model wrote, a call or JSON, and the server could not read. */
const MISWRITTEN: ReadonlySet<string> = new Set(['tool_use_failed', 'json_validate_failed'])

/** Hugging Face's status for everything that its own servers fail at. */
function isBusyInWords(status: number, { message }: Complaint): boolean {
  return status === 424 && meaningOfText(message) === 'busy'
}

const REFUSALS: ReadonlySet<number> = new Set([400, 404, 413, 422])

/** Some servers report a request that is too long with status 500. */
function contextLength(status: number, { code, type, message, layers }: Complaint) {
  if (status !== 500 && !REFUSALS.has(status)) return null
  const counts = layers.find((layer) => layer.has('nctx'))
  return readContextLength({
    code: /context/.test(type) ? type : code,
    message,
    n_prompt_tokens: counts?.get('nprompttokens'),
    n_ctx: counts?.get('nctx'),
  })
}

/** Azure's `content_filter`, DashScope's `data_inspection_failed`, Zhipu's 1301 and others: the server's own filter refused the request. */
function isFiltered(status: number, { code, message }: Complaint): boolean {
  if (status !== 403 && status !== 451 && !REFUSALS.has(status)) return false
  return code === '1301' || meaningOfCode(code) === 'moderation' || FILTERED.test(message)
}

/** The wordings are in the tests, each with its source. */
const FILTERED =
  /content ((management|safety|moderation|usage)( and safety)? )?polic|content[_ ]filter(ing|ed)?\b|content exists risk|data inspection failed|(inappropriate|unsafe|sensitive) (content|words)|new_sensitive|\bflagged (for|as|by)\b|violat\w+ [^.]{0,60}(usage (guideline|polic)|responsible ai)|safety (threshold|filter|polic)|responsible ai|不安全|敏感(内容|信息|词)|违规/i

/** A redirect and 405 say that the address is wrong; a server that was started without a flag says so with status 500. */
function needsOperator(status: number, complaint: Complaint): boolean {
  const { code, type, message } = complaint
  if (status < 400 || [401, 402, 403, 405].includes(status)) return true
  if ([meaningOfCode(code), meaningOfCode(type), meaningOfText(message)].includes('permanent')) return true
  return REFUSALS.has(status) && (isAboutModel(complaint) || (status === 404 && !isAboutRequest(complaint)))
}

/** The answer cannot be read. */
export function unreadable(): EngineError {
  return new EngineError('failed', 'The answer of the model server cannot be read.')
}

/** The answer ended before its end. */
export function incomplete(): EngineError {
  return new EngineError('failed', 'The answer of the model server broke off.')
}

export function connectionLost(): EngineError {
  return new EngineError('failed', 'The answer of the model server broke off.', { connection_lost: true })
}

export function timedOut(): EngineError {
  return new EngineError('timeout', 'The model server did not answer in time.')
}
