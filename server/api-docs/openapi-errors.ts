import type { Endpoint } from '../identity/caller/endpoint.ts'
import { ERRORS } from '../platform/errors.ts'
import { errorAnswerHeaders, isBytes } from './openapi-headers.ts'

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
  413: 'Too large.',
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

/** The response of this status, as every endpoint gives it or with the headers that this one leaves on an error. */
export function errorResponseOf({ headers = {} }: Endpoint, status: number): Json {
  if (!headers['x-dropped-tools']) return { $ref: `#/components/responses/${status}` }
  return errorResponse(status, { 'x-dropped-tools': 'sometimes' })
}

/** The envelope all errors share. */
export function errorSchema(): Json {
  const types = [...new Set(Object.values(ERRORS).map(({ type }) => type))].sort()
  const properties = {
    message: { type: 'string', description: 'For people; names the remedy.' },
    type: { enum: types },
    param: { type: ['string', 'null'], description: 'The field, such as `references.images[0].file_id`.' },
    code: { enum: Object.keys(ERRORS).sort(), description: 'For programs.' },
  }
  const error = { type: 'object', required: Object.keys(properties), properties }
  return { type: 'object', required: ['error'], properties: { error } }
}

/** What an endpoint may answer beside success: from its credential, parameters and body, and for a few from what they do. */
export function errorStatuses(spec: Endpoint): number[] {
  const found = new Set([500, 503, ...(SPECIAL[`${spec.method} ${spec.path}`] ?? [])])
  const add = (...statuses: number[]) => {
    for (const status of statuses) found.add(status)
  }
  if (spec.auth !== 'none' && spec.auth !== 'signed_url') add(401, 429)
  if (spec.auth === 'session' || (spec.auth !== 'api_key' && spec.method !== 'GET')) add(403)
  if (spec.body) add(400, 408, 413, 415)
  if (spec.query) add(400)
  if (/[:*]/.test(spec.path)) add(404)
  if (isBytes(spec)) add(416)
  if (spec.redirects) add(404)
  return [...found].sort((a, b) => a - b)
}

const SPECIAL: Readonly<Record<string, readonly number[]>> = {
  'POST /v1/videos': [402, 403, 404, 409, 422],
  'POST /v1/videos/acceptance': [409],
  'POST /v1/videos/:video_id/cancel': [409],
  'DELETE /v1/videos/:video_id': [409],
  'GET /v1/videos/:video_id/content': [400],
  'POST /v1/chat/completions': [402, 404, 502, 504],
  'POST /v1/responses': [402, 404, 502, 504],
  'POST /v1/responses/input_tokens': [404],
  'POST /v1/responses/compact': [402, 404, 502, 504],
  'GET /v1/responses': [400, 403, 405],
  'POST /v1/responses/:response_id/cancel': [400],
  'POST /console/auth/sign-in/email': [401, 429],
  'POST /console/auth/sign-in/two-factor': [401, 429],
  'POST /console/password': [409],
  'POST /console/two_factor': [409],
  'POST /console/two_factor/confirm': [409],
  'POST /console/two_factor/disable': [409],
  'POST /console/two_factor/recovery_codes': [409],
  'POST /console/invitations': [409],
  'PATCH /console/members/:user_id': [409],
  'DELETE /console/members/:user_id': [409],
  'POST /console/invitations/accept': [404, 409],
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
