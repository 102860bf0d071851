/**
 * What went wrong with a request, as the error envelope says, or `network_failed` when no answer came. The envelope's own words are
 * left behind: pages show a text of the reader's language by `code` and `param`.
 */
export type Failure = Error & {
  failure: true
  /** HTTP status; 0 when no answer came. */
  status: number
  code: string
  type: string
  /** Path of the member at fault, such as `references.images[0].file_id`. */
  param: string | null
  request_id: string | null
  retry_after_seconds: number | null
}

type Details = Partial<Pick<Failure, 'type' | 'param' | 'request_id' | 'retry_after_seconds'>> & { cause?: unknown }

export function newFailure(status: number, code: string, details: Details = {}): Failure {
  const { type = 'server_error', param = null, request_id = null, retry_after_seconds = null, cause } = details
  return Object.assign(new Error(`${code} (${status})`, { cause }), {
    failure: true as const,
    ...{ status, code, type, param, request_id, retry_after_seconds },
  })
}

export function isFailure(error: unknown): error is Failure {
  return error instanceof Error && 'failure' in error
}

/** Any error as a failure. `code_changed`: a part of the console did not load, most often because a newer one was installed. */
export function failureOf(error: unknown): Failure {
  if (isFailure(error)) return error
  const message = error instanceof Error ? error.message : ''
  const code = /dynamically imported module|module script/i.test(message) ? 'code_changed' : 'unexpected'
  return newFailure(0, code, { cause: error })
}

/** Reads the error envelope of an answer. `text` is its body; what is no envelope still makes a failure. */
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

/** No answer came: offline, refused or cut. */
export function noAnswer(): Failure {
  return newFailure(0, 'network_failed')
}
