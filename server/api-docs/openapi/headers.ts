import { isCounted, type Route, type RouteHeader } from '../../identity/caller/route.ts'

type Json = Record<string, unknown>

type Name =
  | RouteHeader
  | 'accept-ranges'
  | 'allow'
  | 'content-range'
  | 'content-security-policy'
  | 'etag'
  | 'location'
  | 'retry-after'
  | 'www-authenticate'
  | 'x-accel-buffering'
  | 'x-ratelimit-limit-requests'
  | 'x-ratelimit-remaining-requests'
  | 'x-ratelimit-reset-requests'
  | 'x-request-id'
  | 'x-should-retry'

const text = { type: 'string' }

/** The meaning of each header. Source: contract 1.3. */
const HEADERS: Readonly<Record<Name, { description: string; schema: Json }>> = {
  'accept-ranges': { description: 'Byte ranges are understood.', schema: { type: 'string', const: 'bytes' } },
  allow: { description: 'The methods of this path.', schema: text },
  'cache-control': { description: 'Who may keep the answer.', schema: text },
  'content-disposition': { description: 'The name of the file.', schema: text },
  'content-range': { description: 'Which bytes of how many.', schema: text },
  'content-security-policy': { description: 'What the content may do in a browser: nothing.', schema: text },
  etag: { description: 'Names this state of the content, for `If-None-Match`.', schema: text },
  'idempotent-replayed': {
    description: 'The job is the one that an earlier request with the same `Idempotency-Key` made.',
    schema: { type: 'string', const: 'true' },
  },
  location: { description: 'Where the browser goes.', schema: text },
  'openai-poll-after-ms': {
    description: 'Milliseconds to wait before the next poll, while the job has not ended.',
    schema: { type: 'integer' },
  },
  'referrer-policy': { description: 'The URL is sent to no other site.', schema: text },
  'retry-after': {
    description: 'Whole seconds to wait: at most 60; after failed sign-ins at most 600.',
    schema: { type: 'integer', minimum: 1, maximum: 600 },
  },
  'set-cookie': { description: 'The cookie of the console login.', schema: text },
  'www-authenticate': { description: 'The scheme of the credential.', schema: { type: 'string', const: 'Bearer' } },
  'x-accel-buffering': { description: 'Proxies must not buffer the events.', schema: { type: 'string', const: 'no' } },
  'x-content-type-options': {
    description: 'The declared media type is final: no sniffing.',
    schema: { type: 'string', const: 'nosniff' },
  },
  'x-dropped-items': {
    description: 'Types of input items that were accepted and not sent to the model, separated by commas.',
    schema: text,
  },
  'x-dropped-tools': {
    description: 'Types of tools that were accepted and not forwarded, separated by commas.',
    schema: text,
  },
  'x-ratelimit-limit-requests': {
    description: 'Requests a minute of this person in the organization, when its plan has a limit.',
    schema: { type: 'integer' },
  },
  'x-ratelimit-remaining-requests': { description: 'Requests left at once.', schema: { type: 'integer' } },
  'x-ratelimit-reset-requests': {
    description: 'Time until all of them are back, such as `1s` or `6m0s`.',
    schema: text,
  },
  'x-request-id': { description: 'Names the request in the logs.', schema: text },
  'x-should-retry': {
    description: 'Whether the same request may succeed later without another change.',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
}

type Use = Partial<Record<Name, 'always' | 'sometimes'>>

const LIMITS: Use = {
  'x-ratelimit-limit-requests': 'sometimes',
  'x-ratelimit-remaining-requests': 'sometimes',
  'x-ratelimit-reset-requests': 'sometimes',
}

const OF_BYTES: Use = {
  'accept-ranges': 'always',
  'cache-control': 'always',
  'content-security-policy': 'always',
  etag: 'always',
  'x-content-type-options': 'always',
}

const OF_ERROR: Readonly<Record<number, Use>> = {
  401: { 'www-authenticate': 'always' },
  405: { allow: 'always' },
  409: { 'x-should-retry': 'always' },
  416: { 'accept-ranges': 'always', 'content-range': 'always' },
  429: { 'retry-after': 'always', 'x-should-retry': 'sometimes' },
  503: { 'retry-after': 'always' },
}

/** The headers of a successful answer, from what its route declares. */
export function answerHeaders(spec: Route, status: 101 | 200 | 206 | 302 | 304): Json {
  const { auth, conditional, events, response_type } = spec
  const bytes = isBytes(spec)
  const named = auth === 'session' || auth === 'api_key_or_session'
  const streams = events !== undefined || response_type === 'text/event-stream'
  return described({
    'x-request-id': 'always',
    ...(isCounted(spec) ? LIMITS : {}),
    // A console login's answers stay out of shared caches; events are kept by nobody.
    ...(named && { 'cache-control': auth === 'session' ? 'always' : 'sometimes' }),
    ...(streams && { 'x-accel-buffering': response_type ? 'always' : 'sometimes', 'cache-control': 'sometimes' }),
    ...(response_type === 'text/event-stream' && { 'cache-control': 'always' }),
    ...(conditional && { etag: 'always', 'cache-control': 'always' }),
    ...(bytes ? OF_BYTES : {}),
    ...(bytes && status !== 304 && { 'content-disposition': 'always' }),
    ...(status === 206 && { 'content-range': 'always' }),
    ...(status === 302 && { location: 'always' }),
    ...spec.headers,
  })
}

/** The headers of an error of this status. `also`: what the route had set by then and leaves on it. */
export function errorAnswerHeaders(status: number, also: Use = {}): Json {
  // A request is counted once its credential is known.
  const limits = status === 401 ? {} : LIMITS
  return described({ 'x-request-id': 'always', ...limits, ...OF_ERROR[status], ...also })
}

/** Text is not bytes: it has no ranges. */
export function isBytes({ response_type }: Pick<Route, 'response_type'>): boolean {
  return response_type !== undefined && !response_type.startsWith('text/')
}

function described(use: Use): Json {
  const sorted = Object.entries(use).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(
    sorted.map(([name, when]) => [name, { ...HEADERS[name as Name], ...(when === 'always' && { required: true }) }]),
  )
}
