/**
 * Why a request failed, by the error envelope, or `network_failed` when there was no response. The envelope's message is dropped:
 * pages show a text in the reader's language by `code` and `param`.
 */
export type Failure = Error & {
  failure: true
  /** HTTP status; 0 when there was no response. */
  status: number
  code: string
  type: string
  /** Path of the invalid field, such as `references.images[0].file_id`. */
  param: string | null
  request_id: string | null
  retry_after_seconds: number | null
  /** When the request may be repeated, in milliseconds as `Date.now()` counts them; null when nothing says so. */
  retry_at_ms: number | null
}

type Details = Partial<Pick<Failure, 'type' | 'param' | 'request_id' | 'retry_after_seconds'>> & { cause?: unknown }

export function newFailure(status: number, code: string, details: Details = {}): Failure {
  const { type = 'server_error', param = null, request_id = null, retry_after_seconds = null, cause } = details
  const retry_at_ms = retry_after_seconds === null ? null : Date.now() + retry_after_seconds * 1000
  return Object.assign(new Error(`${code} (${status})`, { cause }), {
    failure: true as const,
    status,
    code,
    type,
    param,
    request_id,
    retry_after_seconds,
    retry_at_ms,
  })
}

export function isFailure(error: unknown): error is Failure {
  return error instanceof Error && 'failure' in error
}

/** Any error as a failure. `code_changed`: a chunk of the console did not load, usually because a newer version was installed. */
export function failureOf(error: unknown): Failure {
  if (isFailure(error)) return error
  const message = error instanceof Error ? error.message : ''
  const code = /dynamically imported module|module script/i.test(message) ? 'code_changed' : 'unexpected'
  return newFailure(0, code, { cause: error })
}

/** Parses the error envelope in the body `text` of a response. Any other body gives the code `unexpected`. */
export function failureFrom(status: number, text: string, header: (name: string) => string | null): Failure {
  const wait = Number(header('retry-after'))
  const details = { request_id: header('x-request-id'), retry_after_seconds: wait > 0 ? wait : null }
  try {
    const { code, type, param } = JSON.parse(text).error
    return newFailure(status, String(code ?? type), { ...details, type, param })
  } catch {
    return newFailure(status, 'unexpected', details)
  }
}

/** There was no response: offline, refused or disconnected. */
export function noAnswer(): Failure {
  return newFailure(0, 'network_failed')
}
