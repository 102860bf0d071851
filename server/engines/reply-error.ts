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

export type ErrorDetail = {
  code: string
  type: string
  message: string
  /** The path of what was refused, such as `messages[0].content`. */
  param: string
  error: Record<string, unknown>
}

/**
 * What a reply says of an error: `{error: {code, type, message, param}}`, `{error: "text"}`, the same members without `error` (vLLM, SGLang,
 * Cohere), FastAPI's and Mistral's `{detail: [{loc, msg}]}`, OpenRouter's `metadata.raw` of the provider behind it, and Gemini's list of
 * errors. Codes may be numbers.
 */
export function errorDetail(body: unknown): ErrorDetail {
  const outer = asRecord(Array.isArray(body) ? body[0] : body) ?? {}
  const error = asRecord(outer.error) ?? outer
  const details = outer.detail ?? asRecord(error.message)?.detail ?? error.detail
  const first = Array.isArray(details) ? asRecord(details[0]) : null
  const messages = [error.message, outer.error, outer.message, details, first?.msg]
  const inner = innerMessage(asRecord(error.metadata)?.raw)
  const type = text(error.type) || text(outer.type)
  return {
    code: text(error.code) || text(outer.code) || type,
    type,
    message: [...new Set([...messages.map(text), inner].filter((each) => each !== ''))].join(' ').slice(0, MESSAGE_MAX),
    param: text(error.param) || text(outer.param) || pathOf(first?.loc),
    error,
  }
}

/** The message of a reply within a reply. */
function innerMessage(raw: unknown): string {
  if (typeof raw !== 'string') return ''
  try {
    return errorDetail(JSON.parse(raw)).message
  } catch {
    return raw
  }
}

/** Patterns are matched against this much of a message. */
const MESSAGE_MAX = 2000

/** FastAPI's location of a field, without the part of the request that it is in. */
function pathOf(location: unknown): string {
  if (!Array.isArray(location)) return ''
  const names = location[0] === 'body' ? location.slice(1) : location
  return names.reduce(
    (path: string, name) => (typeof name === 'number' ? `${path}[${name}]` : `${path}${path && '.'}${text(name)}`),
    '',
  )
}

/** An engine's own code, where it is fit for the log. */
export function printable(code: string): string | undefined {
  return /^[\w.:-]{1,64}$/.test(code) ? code : undefined
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
