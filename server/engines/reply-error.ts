import { asRecord } from '../platform/json/record.ts'
import { OutboundError } from '../platform/outbound/error.ts'
import type { OutboundReply } from '../platform/outbound/exchange.ts'
import { EngineError, type EngineErrorKind } from './engine-error.ts'

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

/** Statuses of an engine that crashed, or of a gateway that lost it: the engine may be at work. */
const UNSETTLED_STATUSES = new Set([408, 500, 502, 504, 520, 524])

/** The error behind a reply whose status is not a success. The message is ours alone: engines repeat prompts in theirs. */
export function statusError(status: number, headers: OutboundReply['headers'], body: unknown): EngineError {
  const { code, param } = errorDetail(body)
  const kind = isModerationCode(code) ? 'moderation' : statusKind(status)
  return new EngineError(kind, `The engine answered with status ${status}.`, {
    subject: kind === 'rejected' && isAboutMedia(code, param) ? 'reference_media' : undefined,
    retry_after_seconds: kind === 'transient' ? retryAfterSeconds(headers) : undefined,
    engine_code: printable(code),
    not_begun: !UNSETTLED_STATUSES.has(status),
  })
}

/** The error of a render that the engine reports as failed, from the `error` member of its view. */
export function renderError(error: unknown): EngineError {
  const { code, param } = errorDetail({ error })
  const kind = isModerationCode(code) ? 'moderation' : TRANSIENT_CODES.has(plain(code)) ? 'transient' : 'rejected'
  return new EngineError(kind, 'The engine reports the render as failed.', {
    subject: kind === 'rejected' && isAboutMedia(code, param) ? 'reference_media' : undefined,
    engine_code: printable(code),
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

/**
 * The names under which engines report their own content filter, compared without case and punctuation.
 * The words are those of OpenAI and Azure videos, MiniMax (1026 input, 1027 output), Ark, Replicate and gateways in front of them.
 */
const MODERATION_CODES = new Set(
  [
    '1026',
    '1027',
    'moderation',
    'moderation_blocked',
    'moderation_error',
    'input_moderation',
    'output_moderation',
    'content_filter',
    'content_filtered',
    'content_moderation',
    'content_policy',
    'content_policy_violation',
    'policy_violation',
    'usage_policy_violation',
    'responsible_ai_policy_violation',
    'safety',
    'safety_violation',
    'unsafe_content',
    'nsfw',
    'nsfw_content',
    'sensitive_content',
    'sentinel_blocked',
    'InputTextSensitiveContentDetected',
    'InputImageSensitiveContentDetected',
    'InputVideoSensitiveContentDetected',
    'OutputVideoSensitiveContentDetected',
    'OutputAudioSensitiveContentDetected',
  ].map(plain),
)

const MEDIA_CODES = new Set(
  [
    'invalid_image',
    'invalid_image_format',
    'invalid_image_url',
    'image_parse_error',
    'image_too_large',
    'image_too_small',
    'unsupported_image_media_type',
    'invalid_video',
    'invalid_audio',
    'invalid_media',
    'invalid_reference',
    'invalid_reference_media',
    'invalid_input_reference',
    'reference_download_failed',
  ].map(plain),
)

const MEDIA_PARAM =
  /^(body\.)?(input_references?|image_reference|video_reference|audio_reference|conditions|frame_images)\b/

/** Codes of failed renders that may go better when tried again; any other failure would most likely repeat itself at full price. */
const TRANSIENT_CODES = new Set(
  ['server_error', 'internal_error', 'internal_server_error', 'overloaded', 'server_is_overloaded', 'engine_overloaded']
    .concat(['rate_limit_exceeded', 'service_unavailable', 'timeout', 'expired', 'cancelled', 'canceled', 'aborted'])
    .map(plain),
)

function statusKind(status: number): EngineErrorKind {
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

function isModerationCode(code: string): boolean {
  return MODERATION_CODES.has(plain(code))
}

function isAboutMedia(code: string, param: string): boolean {
  return MEDIA_CODES.has(plain(code)) || MEDIA_PARAM.test(param)
}

function printable(code: string): string | undefined {
  return /^[\w.:-]{1,64}$/.test(code) ? code : undefined
}

function plain(code: string): string {
  return code.toLowerCase().replace(/[^a-z0-9]/g, '')
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
