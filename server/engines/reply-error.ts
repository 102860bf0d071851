import { asRecord, isRecord, jsonIn } from '../platform/json/record.ts'
import { OutboundError } from '../platform/outbound/error.ts'
import type { OutboundReply } from '../platform/outbound/exchange.ts'
import { retryAfterSeconds } from '../platform/outbound/retry-after.ts'
import { EngineError, type EngineErrorKind } from './engine-error.ts'
import { meaningOfCode, plainWord } from './error-words.ts'

/**
 * The error behind a call without a reply: `unreachable` when there was no connection, `permanent` when our own address rules refuse the
 * address, else `transient`. Others pass through.
 */
export function callError(error: unknown): unknown {
  if (!(error instanceof OutboundError)) return error
  const { reason, code = reason } = error
  const kind = reason === 'forbidden' ? 'permanent' : NOT_SENT.test(code) ? 'unreachable' : 'transient'
  return new EngineError(kind, `The engine could not be reached: ${error.message}`, { engine_code: code })
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
  /** The HTTP status that the reply itself names, as those of gateways do. */
  status: number | null
  /** The members of every object that was read. */
  layers: ReadonlyArray<ReadonlyMap<string, unknown>>
}

/**
 * What a reply says of an error, wherever servers write it: `{error: {code, type, message, param}}`, `{error: "text"}`, the same members
 * without `error` (vLLM, SGLang, Cohere), the lists of FastAPI, Mistral, Gemini, Nest and Cloudflare, MiniMax's `base_resp`, the reply of the
 * provider behind OpenRouter, JSON within a text, and a body that is no JSON. Members that may repeat the request, such as FastAPI's `input`,
 * are not read. Codes may be numbers.
 */
export function errorDetail(body: unknown): ErrorDetail {
  const found: Found = { layers: [], texts: [] }
  collect(body, found, 0)
  const { layers } = found
  const codes = textsOf(layers, CODES).filter((code) => code !== '0')
  const type = textsOf(layers, TYPES)[0] ?? ''
  const status = [...codes, ...textsOf(layers, ['status', 'httpcode'])].find((code) => STATUS.test(code))
  const location = layers.map((layer) => layer.get('loc')).find(Array.isArray)
  return {
    code: codes.find((code) => !STATUS.test(code)) ?? codes[0] ?? type,
    type,
    message: [...new Set(found.texts)].join(' ').slice(0, MESSAGE_MAX),
    param: textsOf(layers, ['param'])[0] ?? pathOf(location),
    status: status === undefined ? null : Number(status),
    layers,
  }
}

/** Names of members without case and punctuation. */
const CODES = ['code', 'errorcode', 'errcode', 'statuscode']
const TYPES = ['type', 'errortype']
/** Those that say why, or hold others that do, in the order in which they are read. */
const REASONS = [
  ...['error', 'message', 'msg', 'errormessage', 'errormsg', 'errmsg'],
  ...['detail', 'errors', 'baseresp', 'statusmsg'],
]
const STATUS = /^[45]\d\d$/
/** Objects are read so deep, so many of a list, and so many members of each. */
const DEPTH_MAX = 6
const ITEMS_MAX = 4
const MEMBERS_MAX = 100

type Found = { layers: ReadonlyMap<string, unknown>[]; texts: string[] }

function collect(value: unknown, found: Found, depth: number): void {
  if (depth > DEPTH_MAX) return
  if (typeof value === 'string') {
    const inner = objectIn(value)
    if (inner !== undefined) collect(inner, found, depth + 1)
    else if (value.trim() !== '' && !PAGE.test(value)) found.texts.push(value.slice(0, MESSAGE_MAX).trim())
  } else if (Array.isArray(value)) {
    for (const each of value.slice(0, ITEMS_MAX)) collect(each, found, depth + 1)
  } else if (isRecord(value)) {
    const layer = layerOf(value)
    const { error } = value
    if (isRecord(error)) collect(error, found, depth + 1)
    found.layers.push(layer)
    for (const name of REASONS) if (name !== 'error' || !isRecord(error)) collect(layer.get(name), found, depth + 1)
    collect(asRecord(value.metadata)?.raw, found, depth + 1)
  }
}

function layerOf(value: Record<string, unknown>): Map<string, unknown> {
  const layer = new Map<string, unknown>()
  for (const name in value) {
    layer.set(plainWord(name), value[name])
    if (layer.size >= MEMBERS_MAX) break
  }
  return layer
}

/** A page of a proxy says no more than its status. */
const PAGE = /^\s*<(!doctype|html|head|body|\?xml)\b/i

function objectIn(words: string): unknown {
  return /^\s*[{[]/.test(words) ? jsonIn(words.trim()) : undefined
}

/** What is in these members, none of it empty: those of the first object first. */
function textsOf(layers: Found['layers'], names: readonly string[]): string[] {
  return layers.flatMap((layer) => names.map((name) => text(layer.get(name)))).filter((each) => each !== '')
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
