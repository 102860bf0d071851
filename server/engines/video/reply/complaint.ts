import { asRecord, isRecord, jsonIn } from '../../../platform/json/record.ts'
import type { EngineReply } from '../../../platform/outbound/client.ts'
import { retryAfterSeconds } from '../../../platform/outbound/retry-after.ts'
import { EngineError, type EngineErrorKind } from '../../engine-error.ts'
import { type Meaning, meaningOfCode, meaningOfText, plainWord } from '../../error-words.ts'
import { isUnsettled, MEDIA_PARAM, printable, statusKind } from '../../reply-error.ts'
import { isFilled, ownId, type ReplyLayer, type ReplyView } from './view.ts'

/** What one protocol calls things, where that does not follow from what most engines call them. */
export type ProtocolWords = {
  /** The engine's own codes: what they mean there, before what they mean everywhere. */
  codes?: ReadonlyArray<readonly [pattern: RegExp, meaning: Meaning]>
  /** Members of a request that are media, as a refusal names them. */
  media_params?: RegExp
}

/**
 * What a reply has to say about a failure, from wherever engines write it; texts alone may be remarks. `has_error`: it holds an error, or
 * denies success. `is_error`: that, or a code that is not one of success. `http`: the status of the call that a gateway wrote into the body.
 */
type Complaint = {
  has_error: boolean
  is_error: boolean
  codes: string[]
  texts: string[]
  params: string[]
  http: number | null
}

export function complaintIn({ layers }: Pick<ReplyView, 'layers'>): Complaint {
  const parts = layers.map(complaintOf)
  return {
    has_error: parts.some(({ has_error }) => has_error),
    is_error: parts.some(({ is_error }) => is_error),
    codes: parts.flatMap(({ codes }) => codes),
    texts: parts.flatMap(({ texts }) => texts),
    params: parts.flatMap(({ params }) => params),
    http: parts.map(({ http }) => http).find((http) => http !== null) ?? null,
  }
}

/** The error behind a reply that refuses, whatever its status. The message is ours alone: engines repeat prompts in theirs. */
export function refusalError({ status, headers }: EngineReply, view: ReplyView, words: ProtocolWords): EngineError {
  const complaint = complaintIn(view)
  const isStatus = status < 200 || status > 299
  const http = isStatus ? status : complaint.http
  const own = ownMeaning(complaint, words)
  const meaning = own ?? generalMeaning(complaint, { with_texts: http === null || !ABOUT_THE_CALL.has(http) })
  const kind = own === null ? refusalKind(meaning, http, complaint) : KINDS[own]
  const isKnown = meaning !== null && kind !== 'transient'
  return new EngineError(kind, `The engine ${isStatus ? `answered with status ${status}` : 'refused'}.`, {
    ...detailsOf(complaint, { kind, meaning, words }),
    retry_after_seconds: kind === 'transient' ? retryAfterSeconds(headers) : undefined,
    // A gateway that hands on an upstream's 500 in a body of status 200 knows no more than one that sends it as the status.
    not_begun: isKnown || meaning === 'busy' || http === null || !isUnsettled(http),
  })
}

/** The error of a render that the engine reports as failed. */
export function failureError(view: ReplyView, words: ProtocolWords): EngineError {
  const complaint = complaintIn(view)
  const meaning = meaningOf(complaint, words)
  const byStatus = complaint.http === null ? 'rejected' : statusKind(complaint.http)
  const kind = meaning === null ? (byStatus === 'transient' ? byStatus : 'rejected') : KINDS[meaning]
  return new EngineError(
    kind,
    'The engine reports the render as failed.',
    detailsOf(complaint, { kind, meaning, words }),
  )
}

/** What a complaint means, by the engine's own codes first; null when it means nothing known. */
export function meaningOf(complaint: Complaint, words: ProtocolWords): Meaning | null {
  return ownMeaning(complaint, words) ?? generalMeaning(complaint, { with_texts: true })
}

/** Whether a reply says that there is no such render, in place of a view of it. */
export function meansGone({ status }: EngineReply, view: ReplyView): boolean {
  if (status === 404 || status === 410) return true
  if ([401, 402, 403, 408, 425, 429].includes(status)) return false
  const { codes, texts, http, is_error } = complaintIn(view)
  if (status >= 200 && status <= 299 && (http === 404 || http === 410)) return true
  const isGone = (meaning: Meaning | null) => meaning === 'gone'
  if (codes.map(meaningOfCode).some(isGone)) return true
  const isReadable = status < 500 && (is_error || status >= 300 || view.id === null)
  return isReadable && texts.map(meaningOfText).some(isGone)
}

/** Of several meanings the first decides. */
const ORDER: readonly Meaning[] = ['moderation', 'busy', 'permanent', 'media', 'rejected', 'transient', 'gone']

const KINDS: Record<Meaning, EngineErrorKind> = {
  moderation: 'moderation',
  busy: 'transient',
  transient: 'transient',
  permanent: 'permanent',
  media: 'rejected',
  gone: 'rejected',
  rejected: 'rejected',
}

/** Texts beside these statuses are about credentials, paths and rates, not about the render. */
const ABOUT_THE_CALL: ReadonlySet<number> = new Set([401, 402, 404, 405, 429])

function ownMeaning({ codes }: Complaint, words: ProtocolWords): Meaning | null {
  return codes.flatMap((code) => words.codes?.find(([pattern]) => pattern.test(code))?.[1] ?? [])[0] ?? null
}

function generalMeaning({ codes, texts }: Complaint, { with_texts }: { with_texts: boolean }): Meaning | null {
  const meanings = [...codes.map(meaningOfCode), ...(with_texts ? texts.map(meaningOfText) : [])]
  return ORDER.find((meaning) => meanings.includes(meaning)) ?? null
}

function refusalKind(meaning: Meaning | null, http: number | null, { texts }: Complaint): EngineErrorKind {
  if (http === null) return KINDS[meaning ?? 'rejected']
  // A gateway without a channel for a model says so in a code, with 503, and may have one later. MiniMax says "insufficient balance" with 500.
  const isInWords = texts.some((text) => /\s/.test(text) && meaningOfText(text) === 'permanent')
  const isOperators = meaning === 'permanent' && (http < 500 || isInWords)
  const decides = meaning === 'moderation' || meaning === 'busy' || isOperators
  return decides ? KINDS[meaning] : statusKind(http)
}

type Read = { kind: EngineErrorKind; meaning: Meaning | null; words: ProtocolWords }

function detailsOf({ codes, params }: Complaint, { kind, meaning, words: { media_params } }: Read) {
  const isParam = (param: string) => MEDIA_PARAM.test(param) || (media_params?.test(param) ?? false)
  const isAboutMedia = meaning === 'media' || params.some(isParam)
  return {
    subject: kind === 'rejected' && isAboutMedia ? ('reference_media' as const) : undefined,
    engine_code: codes.map(printable).find((code) => code !== undefined),
  }
}

const CODES = ['code', 'errorcode', 'errortype', 'errcode', 'failcode', 'failurecode', 'statuscode', 'retcode']
const TEXTS = [
  'message',
  'msg',
  'errormessage',
  'errormsg',
  'errmsg',
  'failreason',
  'failurereason',
  'failmsg',
  'reason',
]
const MORE_TEXTS = ['taskstatusmsg', 'statusmsg', 'statusmessage', 'detail', 'details']
const FINE = new Set(['', 'success', 'successful', 'succeed', 'succeeded', 'ok', 'completed', 'accepted', 'created'])

function complaintOf({ members }: ReplyLayer): Complaint {
  const { error, detail } = { error: errorInText(members.get('error')), detail: members.get('detail') }
  const errors = members.get('errors')
  const first = [error, detail, errors].map((value) => asRecord(Array.isArray(value) ? value[0] : value) ?? {})
  const base = asRecord(members.get('baseresp')) ?? {}
  const codes = [...CODES.map((name) => members.get(name)), base.status_code].filter((code) => !isFine(code))
  const texts = [...TEXTS, ...MORE_TEXTS].map((name) => members.get(name))
  const found = [...texts, base.status_msg, error, detail, errors].flatMap((value) => textsIn(value))
  const named = first.flatMap(({ code, error_code }) => [code, error_code])
  const types = first.flatMap(({ type, status }) => [type, status])
  const all = [...named, ...codes, ...found.flatMap(codesInText), ...types]
  const statuses = [members.get('status'), ...first.map(({ http_code }) => http_code)]
  const refused = ['success', 'ok'].some((name) => [false, 'false'].includes(members.get(name) as boolean | string))
  const has_error = refused || isFilled(error) || isFilled(errors)
  return {
    has_error,
    is_error: has_error || codes.length > 0 || (isFilled(detail) && ownId(members) === undefined),
    codes: all.flatMap((code) => codeText(code)),
    texts: found,
    params: [...first.map(paramIn), textOf(members.get('param'))].filter((param) => param !== ''),
    http: [...codes, ...named, ...statuses].map(httpStatus).find((each) => each !== null) ?? null,
  }
}

/** A code that names no error. */
function isFine(code: unknown): boolean {
  if (code === undefined || code === null || typeof code === 'object' || typeof code === 'boolean') return true
  const number = Number(code)
  if (Number.isFinite(number) && code !== '') return number === 0 || (number >= 200 && number <= 299)
  return FINE.has(plainWord(String(code)))
}

/** The status of a call that a gateway wrote into a body of its own. */
function httpStatus(value: unknown): number | null {
  const number = typeof value === 'number' || (typeof value === 'string' && /^\d{3}$/.test(value)) ? Number(value) : 0
  return Number.isInteger(number) && number >= 400 && number <= 599 ? number : null
}

/** Gateways put the body of an upstream's error into a text. */
function errorInText(value: unknown): unknown {
  if (typeof value !== 'string' || !value.trimStart().startsWith('{')) return value
  const inner = jsonIn(value)
  return (isRecord(inner) && inner.error) || (inner ?? value)
}

/** Every text in a value, as far as it may say why. */
function textsIn(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value.slice(0, TEXT_MAX)]
  if (depth > 4 || typeof value !== 'object' || value === null) return []
  return Object.entries(value)
    .filter(([name]) => !/^(input|inputs|prompt|loc|ctx|url|param)$/i.test(name))
    .flatMap(([, each]) => textsIn(each, depth + 1))
}

/** Codes that engines write into their texts: MiniMax's `(1027)` at the end, Replicate's `E005`. */
function codesInText(text: string): string[] {
  return [/\((\d{4})\)\s*$/.exec(text)?.[1], /\bE\d{3,5}\b/.exec(text)?.[0]].filter((code) => code !== undefined)
}

function paramIn({ param, loc }: Record<string, unknown>): string {
  return textOf(param) || (Array.isArray(loc) ? loc.join('.') : '')
}

function codeText(code: unknown): string[] {
  const text = textOf(code)
  return text === '' || text.length > CODE_MAX ? [] : [text]
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

const TEXT_MAX = 4000
const CODE_MAX = 120
