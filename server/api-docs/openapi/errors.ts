import type { Route } from '../../identity/caller/route.ts'
import { ERRORS, type ErrorCode } from '../../platform/errors.ts'
import { errorAnswerHeaders, isBytes } from './headers.ts'

type Json = Record<string, unknown>

const MEANINGS: Readonly<Record<number, string>> = {
  400: 'The request is wrong; `param` names the field.',
  401: 'No credential, or one that is not good.',
  402: 'The balance does not cover this.',
  403: 'The caller may not do this.',
  404: "Unknown, gone or another organization's.",
  405: 'The path has no such method.',
  408: 'The body did not arrive in time.',
  409: 'Not possible in the present state.',
  413: 'Too large, or more than the plan allows to be stored.',
  415: 'Wrong `Content-Type`.',
  416: 'The range lies outside the content.',
  422: 'The idempotency key was used for another body.',
  429: 'Too many at once, or too many in too short a time.',
  500: 'A fault of the service. Quote the request id.',
  502: 'A model server failed.',
  503: 'Busy, or shutting down. Try again after `retry-after`.',
  504: 'A model server did not answer in time.',
}

/** One response for each status that an error can have. */
export function errorResponses(): Record<string, Json> {
  const statuses = [...new Set(Object.values(ERRORS).map(({ status }) => status))].sort((a, b) => a - b)
  return Object.fromEntries(statuses.map((status) => [status, errorResponse(status)]))
}

/** The response of this status, as every route gives it or with the headers that this one leaves on an error. */
export function errorResponseOf({ error_headers }: Route, status: number): Json {
  if (!error_headers) return { $ref: `#/components/responses/${status}` }
  return errorResponse(status, Object.fromEntries(error_headers.map((name) => [name, 'sometimes'])))
}

/** The envelope all errors share. */
export function errorSchema(): Json {
  const types = [...new Set(Object.values(ERRORS).map(({ type }) => type))].sort()
  const properties = {
    message: { type: 'string', description: 'For people; names the remedy.' },
    type: { type: 'string', enum: types },
    param: { type: ['string', 'null'], description: 'The field, such as `references.images[0].file_id`.' },
    code: { type: 'string', enum: Object.keys(ERRORS).sort(), description: 'For programs.' },
  }
  const error = { type: 'object', required: Object.keys(properties), properties }
  return { type: 'object', required: ['error'], properties: { error } }
}

/** The statuses of the errors a route may answer: those it declares, and those that follow from the rest of its declaration. */
export function errorStatuses(spec: Route): number[] {
  const codes: ErrorCode[] = ['server_error', 'server_is_overloaded', ...(spec.errors ?? [])]
  const knowsCaller = spec.auth !== 'none' && spec.auth !== 'signed_url'
  if (knowsCaller) codes.push('missing_api_key', 'invalid_api_key', 'rate_limit_exceeded')
  if (spec.auth === 'session') codes.push('console_login_required')
  if (spec.auth !== 'api_key' && spec.method !== 'GET') codes.push('csrf_failed')
  if (spec.body) codes.push('request_timeout', 'request_too_large', 'unsupported_media_type')
  if (spec.body || spec.query) codes.push('invalid_request_error')
  if (/[:*]/.test(spec.path)) codes.push('not_found')
  if (isBytes(spec)) codes.push('range_not_satisfiable')
  if (spec.idempotent) codes.push('idempotency_in_progress', 'idempotency_key_reused')
  return [...new Set(codes.map((code) => ERRORS[code].status))].sort((a, b) => a - b)
}

function errorResponse(status: number, also: Parameters<typeof errorAnswerHeaders>[1] = {}): Json {
  const codes = Object.entries(ERRORS)
    .filter(([, entry]) => entry.status === status)
    .map(([code]) => code)
  return {
    description: `${MEANINGS[status] ?? 'An error.'} Codes: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    headers: errorAnswerHeaders(status, also),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  }
}
