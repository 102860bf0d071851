import type { LookupFunction } from 'node:net'
import type { Context } from '../context.ts'
import { publicPost } from '../platform/outbound/client.ts'
import { OutboundError } from '../platform/outbound/error.ts'
import { isLoopbackUrl, parsePublicUrl } from '../platform/outbound/guard.ts'
import { retryAfterSeconds } from '../platform/outbound/retry-after.ts'
import { signedMessage } from './message.ts'
import { signingSecrets } from './secrets.ts'
import type { EndpointRow } from './store/endpoints.ts'
import type { EventRow } from './store/events.ts'

/** Why an attempt did not succeed, for the list of deliveries. */
export const ATTEMPT_ERRORS = [
  'status',
  'redirect',
  'timeout',
  'unreachable',
  'unreadable',
  'address_not_allowed',
  'secret_unreadable',
] as const
export type AttemptError = (typeof ATTEMPT_ERRORS)[number]

/** What came of sending one event once. `error` is null after a 2xx; `status_code` and `response` are null without an answer. */
export type DeliveryAttempt = {
  sent_at: Date
  status_code: number | null
  error: AttemptError | null
  retry_after_seconds: number | null
  response: { headers: Record<string, string>; body: string } | null
}

export type AttemptOptions = {
  signal?: AbortSignal
  /** Takes the place of the system's name resolution, in tests. */
  lookup?: LookupFunction
}

/** The longest that a receiver may ask us to wait. */
const RETRY_AFTER_SECONDS_MAX = 86_400
/** How long a receiver may take to answer. */
const ATTEMPT_MILLISECONDS = 15_000

/**
 * The URL, normalized. Throws OutboundError `forbidden` for an address to which nothing may be sent. A name is checked when it is connected to.
 */
export function requireAllowedUrl({ config }: Pick<Context, 'config'>, url: string): string {
  if (config.webhooks.allow_loopback && isLoopbackUrl(url)) return new URL(url).href
  return parsePublicUrl(url, { https_only: true }).href
}

/**
 * Sends an event to an endpoint, once: no redirect is followed, only public addresses are connected to, and of the answer nothing but its
 * head and the beginning of its body is read. Throws OutboundError `aborted` when `signal` aborts, and nothing else.
 */
export async function attempt(
  ctx: Pick<Context, 'config' | 'clock' | 'secrets'>,
  endpoint: EndpointRow,
  event: Omit<EventRow, 'org_id'>,
  options: AttemptOptions = {},
): Promise<DeliveryAttempt> {
  const now = ctx.clock.now()
  const secrets = signingSecrets(ctx, endpoint, now)
  if (secrets === null) return failed('secret_unreadable', now)
  const { url } = endpoint
  const trusted_origins = ctx.config.webhooks.allow_loopback && isLoopbackUrl(url) ? [new URL(url).origin] : []
  const message = signedMessage(event, secrets, now)
  try {
    const reply = await publicPost(url, {
      ...message,
      ...options,
      https_only: true,
      trusted_origins,
      timeout_ms: ATTEMPT_MILLISECONDS,
    })
    const response = { headers: shownHeaders(reply.headers), body: beginningOf(reply.beginning) }
    return { ...answered(reply.status, reply.headers), sent_at: now, response }
  } catch (error) {
    if (!(error instanceof OutboundError) || error.reason === 'aborted') throw error
    return failed(NO_ADDRESS.test(error.code ?? '') ? 'address_not_allowed' : FAULTS[error.reason], now)
  }
}

/** Headers of an answer that help to find a fault and hold no secret, such as a cookie, of the receiver. */
const SHOWN_HEADERS = [
  'content-type',
  'content-length',
  'date',
  'server',
  'via',
  'location',
  'allow',
  'retry-after',
  'x-request-id',
]
const SHOWN_HEADER_LENGTH_MAX = 256
const SHOWN_BODY_BYTES_MAX = 1024

function shownHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const given = SHOWN_HEADERS.filter((name) => headers[name] !== undefined)
  return Object.fromEntries(given.map((name) => [name, String(headers[name]).slice(0, SHOWN_HEADER_LENGTH_MAX)]))
}

/** As text; PostgreSQL stores no NUL. */
function beginningOf(bytes: Uint8Array | null): string {
  if (bytes === null) return ''
  const text = new TextDecoder().decode(bytes.subarray(0, SHOWN_BODY_BYTES_MAX), { stream: true })
  return text.replaceAll('\0', '\ufffd')
}

function answered(
  status_code: number,
  headers: Record<string, string | string[] | undefined>,
): Pick<DeliveryAttempt, 'status_code' | 'error' | 'retry_after_seconds'> {
  if (status_code >= 200 && status_code < 300) return { status_code, error: null, retry_after_seconds: null }
  const error = status_code >= 300 && status_code < 400 ? 'redirect' : 'status'
  const asked =
    status_code === 429 || status_code === 503 ? retryAfterSeconds(headers, RETRY_AFTER_SECONDS_MAX) : undefined
  return { status_code, error, retry_after_seconds: asked ?? null }
}

const FAULTS: Readonly<Record<Exclude<OutboundError['reason'], 'aborted'>, AttemptError>> = {
  forbidden: 'address_not_allowed',
  unreachable: 'unreachable',
  timeout: 'timeout',
  too_large: 'unreadable',
  unreadable: 'unreadable',
  refused: 'unreadable',
}

/**
 * Codes of name servers. A name without an address is the same error as one with a private address: otherwise endpoints would find out the
 * names of the operator's network.
 */
const NO_ADDRESS = /^(ENOTFOUND|ENODATA|ESERVFAIL|EREFUSED|EFORMERR|ENOTIMP|EBADNAME|EBADRESP|ETIMEOUT|EAI_[A-Z]+)$/

function failed(error: AttemptError, sent_at: Date): DeliveryAttempt {
  return { sent_at, status_code: null, error, retry_after_seconds: null, response: null }
}
