import { asRecord } from '../platform/json/record.ts'
import { OutboundError } from '../platform/outbound/error.ts'
import type { OutboundReply } from '../platform/outbound/exchange.ts'
import { EngineError, type EngineErrorKind } from './engine-error.ts'
import { meaningOfCode } from './error-words.ts'

/** The error behind a call without a reply: a network error is transient, a refusal by our own address rules permanent. Others pass through. */
export function callError(error: unknown): unknown {
  if (!(error instanceof OutboundError)) return error
  const kind = error.reason === 'forbidden' ? 'permanent' : 'transient'
  return new EngineError(kind, `The engine could not be reached: ${error.message}`, {
    engine_code: error.code ?? error.reason,
    not_begun: kind !== 'transient' || NOT_SENT.test(error.code ?? ''),
  })
}

/** Codes of connections that were never opened: nothing of the request was sent. */
const NOT_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_.*|CERT_.*|.*SELF_SIGNED.*|UNABLE_TO_.*)$/

/** Of an engine that crashed, or of a gateway that lost it: the engine may be at work. */
export function isUnsettled(status: number): boolean {
  return UNSETTLED_STATUSES.has(status)
}
const UNSETTLED_STATUSES = new Set([303, 408, 500, 502, 504, 520, 524])

/** The error behind a reply whose status is not a success. The message is ours alone: engines repeat prompts in theirs. */
export function statusError(status: number, headers: OutboundReply['headers'], body: unknown): EngineError {
  const { code, param } = errorDetail(body)
  const meaning = meaningOfCode(code)
  const kind = meaning === 'moderation' ? meaning : statusKind(status)
  return new EngineError(kind, `The engine answered with status ${status}.`, {
    subject: kind === 'rejected' && (meaning === 'media' || MEDIA_PARAM.test(param)) ? 'reference_media' : undefined,
    retry_after_seconds: kind === 'transient' ? retryAfterSeconds(headers) : undefined,
    engine_code: printable(code),
    not_begun: !isUnsettled(status),
  })
}

/** A reply that cannot be read, which leaves open what became of the work. */
export function unreadableReply(what: string): EngineError {
  return new EngineError('transient', `The engine's reply cannot be read: ${what}.`, { engine_code: 'unreadable' })
}

/** The wait an engine asks for, in seconds: `retry-after` as a number or as a date against the reply's own `date`. At most an hour. */
export function retryAfterSeconds(headers: OutboundReply['headers']): number | undefined {
  const value = headers['retry-after']
  if (typeof value !== 'string') return undefined
  const date = headers.date
  const seconds = /^\d+(\.\d+)?$/.test(value.trim())
    ? Number(value)
    : (Date.parse(value) - Date.parse(typeof date === 'string' ? date : '')) / 1000
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, 3600) : undefined
}

export const MEDIA_PARAM =
  /^(body\.)?(input_references?|image_reference|video_reference|audio_reference|conditions|frame_images)\b/

/** What a status means by itself. */
export function statusKind(status: number): EngineErrorKind {
  if ([408, 425, 429].includes(status) || status >= 500) return 'transient'
  if ([400, 406, 409, 411, 413, 414, 415, 422, 431].includes(status)) return 'rejected'
  return 'permanent'
}

/** `{error: {code, type, param}}`, `{code}` and FastAPI's `{detail: [{loc}]}`; codes may be numbers. */
function errorDetail(body: unknown): { code: string; param: string } {
  const outer = asRecord(body) ?? {}
  const error = asRecord(outer.error) ?? {}
  const location = Array.isArray(outer.detail) ? asRecord(outer.detail[0])?.loc : undefined
  const param = error.param ?? outer.param ?? (Array.isArray(location) ? location.join('.') : '')
  return { code: text(error.code) || text(outer.code) || text(error.type) || text(outer.type), param: text(param) }
}

/** An engine's own code, where it is fit for the log. */
export function printable(code: string): string | undefined {
  return /^[\w.:-]{1,64}$/.test(code) ? code : undefined
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
