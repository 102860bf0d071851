/**
 * Every error a client can meet: HTTP status, envelope `type` and, where the official SDKs would retry by themselves, the answer
 * to `x-should-retry`. The one place a status comes from; `docs/errors.md` is compared with it both ways.
 * Source: docs/errors.md.
 */
export const ERRORS = {
  invalid_request_error: { status: 400, type: 'invalid_request_error' },
  missing_required_parameter: { status: 400, type: 'invalid_request_error' },
  invalid_type: { status: 400, type: 'invalid_request_error' },
  decimal_above_max_value: { status: 400, type: 'invalid_request_error' },
  decimal_below_min_value: { status: 400, type: 'invalid_request_error' },
  integer_above_max_value: { status: 400, type: 'invalid_request_error' },
  integer_below_min_value: { status: 400, type: 'invalid_request_error' },
  string_above_max_length: { status: 400, type: 'invalid_request_error' },
  string_below_min_length: { status: 400, type: 'invalid_request_error' },
  array_above_max_length: { status: 400, type: 'invalid_request_error' },
  array_below_min_length: { status: 400, type: 'invalid_request_error' },
  object_above_max_properties: { status: 400, type: 'invalid_request_error' },
  invalid_value: { status: 400, type: 'invalid_request_error' },
  unsupported_value: { status: 400, type: 'invalid_request_error' },
  unsupported_parameter: { status: 400, type: 'invalid_request_error' },
  unknown_parameter: { status: 400, type: 'invalid_request_error' },
  model_capability_mismatch: { status: 400, type: 'invalid_request_error' },
  context_length_exceeded: { status: 400, type: 'invalid_request_error' },
  content_filter: { status: 400, type: 'invalid_request_error' },
  invalid_file: { status: 400, type: 'invalid_request_error' },
  invalid_file_purpose: { status: 400, type: 'invalid_request_error' },
  invalid_image_url: { status: 400, type: 'invalid_request_error' },
  invalid_file_data: { status: 400, type: 'invalid_request_error' },
  tool_call_not_found: { status: 400, type: 'invalid_request_error' },
  tool_output_missing: { status: 400, type: 'invalid_request_error' },
  unknown_event: { status: 400, type: 'invalid_request_error' },
  websocket_connection_limit_reached: { status: 400, type: 'invalid_request_error' },
  invalid_json: { status: 400, type: 'invalid_request_error' },
  missing_api_key: { status: 401, type: 'authentication_error' },
  invalid_api_key: { status: 401, type: 'authentication_error' },
  insufficient_credits: { status: 402, type: 'insufficient_quota' },
  agreement_required: { status: 403, type: 'permission_error' },
  console_login_required: { status: 403, type: 'permission_error' },
  csrf_failed: { status: 403, type: 'permission_error' },
  permission_denied: { status: 403, type: 'permission_error' },
  invalid_signature: { status: 403, type: 'permission_error' },
  model_not_found: { status: 404, type: 'invalid_request_error' },
  previous_response_not_found: { status: 404, type: 'invalid_request_error' },
  item_not_found: { status: 404, type: 'invalid_request_error' },
  not_found: { status: 404, type: 'invalid_request_error' },
  unknown_url: { status: 404, type: 'invalid_request_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  request_timeout: { status: 408, type: 'invalid_request_error' },
  conflict: { status: 409, type: 'invalid_request_error', should_retry: false },
  idempotency_in_progress: { status: 409, type: 'invalid_request_error', should_retry: true },
  terms_version_mismatch: { status: 409, type: 'invalid_request_error', should_retry: false },
  request_too_large: { status: 413, type: 'invalid_request_error' },
  file_too_large: { status: 413, type: 'invalid_request_error' },
  storage_limit_exceeded: { status: 413, type: 'invalid_request_error' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
  range_not_satisfiable: { status: 416, type: 'invalid_request_error' },
  idempotency_key_reused: { status: 422, type: 'invalid_request_error' },
  concurrency_limit_exceeded: { status: 429, type: 'rate_limit_error', should_retry: false },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  too_many_requests: { status: 429, type: 'rate_limit_error' },
  server_error: { status: 500, type: 'server_error' },
  upstream_error: { status: 502, type: 'server_error' },
  server_is_overloaded: { status: 503, type: 'server_error' },
  intake_paused: { status: 503, type: 'server_error' },
  upstream_timeout: { status: 504, type: 'server_error' },
} as const satisfies Record<string, { status: number; type: string; should_retry?: boolean }>

export type ErrorCode = keyof typeof ERRORS

/** Why the service has no capacity for a request, for metrics. */
export const OVERLOADS = [
  ...(['stopping', 'database', 'bucket', 'disk_full', 'memory', 'sockets'] as const),
  ...(['media_children', 'audit', 'paused', 'engine_overloaded', 'engine_unreachable'] as const),
] as const
export type Overload = (typeof OVERLOADS)[number]

/**
 * An answer that is an error. `message` is public and names the remedy; `internal` is for the log alone.
 * `param` is a path such as `image_reference[0].file_id`.
 */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly code: ErrorCode
  readonly param: string | null
  readonly internal: string | undefined
  readonly retry_after_seconds: number | undefined
  /** With `server_is_overloaded` and `intake_paused`. */
  readonly overload: Overload | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      param?: string | null
      internal?: string
      retry_after_seconds?: number | undefined
      overload?: Overload
      headers?: Record<string, string>
      cause?: unknown
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.param = options.param ?? null
    this.internal = options.internal
    this.retry_after_seconds = options.retry_after_seconds
    this.overload = options.overload
    this.headers = options.headers ?? {}
  }

  get status(): number {
    return ERRORS[this.code].status
  }
}

/** The refusal of a request for which there is no capacity now. */
export function overloaded(
  overload: Overload,
  message: string,
  options: { internal?: string; retry_after_seconds?: number | undefined; cause?: unknown } = {},
): ApiError {
  return new ApiError('server_is_overloaded', message, { ...options, overload })
}

/** The envelope of contract section 2.1; all four members are always present. */
export type ErrorBody = { error: { message: string; type: string; param: string | null; code: string } }

/** The wire form. `plain_400` gives every 400 the code `invalid_request_error`, as the video routes promise. */
export function errorBody(error: ApiError, options: { plain_400?: boolean } = {}): ErrorBody {
  const { status, type } = ERRORS[error.code]
  const code = options.plain_400 && status === 400 ? 'invalid_request_error' : error.code
  return { error: { message: error.message, type, param: error.param, code } }
}

/** Headers that go with an error: retry advice for SDKs, `www-authenticate`, and those the error brought along. */
export function errorHeaders(error: ApiError): Record<string, string> {
  const entry: { status: number; should_retry?: boolean } = ERRORS[error.code]
  const headers: Record<string, string> = { ...error.headers }
  if (entry.status === 401) headers['www-authenticate'] = 'Bearer'
  if (entry.should_retry !== undefined) headers['x-should-retry'] = String(entry.should_retry)
  const wait = error.retry_after_seconds ?? RETRY_AFTER_SECONDS[entry.status]
  // The Node SDK ignores larger values. An error that no SDK meets brings its own.
  if (wait !== undefined) headers['retry-after'] ??= String(Math.min(60, Math.max(1, Math.ceil(wait))))
  return headers
}

/** Where the thrower knows no better: a slot frees when a render ends, an overload passes sooner. */
const RETRY_AFTER_SECONDS: Readonly<Record<number, number>> = { 429: 10, 503: 1 }

/** One 404 body for missing and foreign objects alike, so that the answer reveals nothing about other organizations. */
export function notFound(kind: string): ApiError {
  return new ApiError('not_found', `No such ${kind}. Check the id and that it belongs to your organization.`)
}
