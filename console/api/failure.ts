/** What went wrong with a request, as the error envelope says, or `network_failed` when no answer came. */
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

type Details = Partial<Pick<Failure, 'type' | 'param' | 'request_id' | 'retry_after_seconds'>>

export function newFailure(status: number, code: string, message: string, details: Details = {}): Failure {
  const { type = 'server_error', param = null, request_id = null, retry_after_seconds = null } = details
  return Object.assign(new Error(message), {
    failure: true as const,
    ...{ status, code, type, param, request_id, retry_after_seconds },
  })
}

export function isFailure(error: unknown): error is Failure {
  return error instanceof Error && 'failure' in error
}

/** Any error as a failure: what is not one is a fault of ours. */
export function failureOf(error: unknown): Failure {
  if (isFailure(error)) return error
  return newFailure(0, 'unexpected', error instanceof Error ? error.message : String(error))
}

/** Reads the error envelope of an answer. `text` is its body; what is no envelope still makes a failure. */
export function failureFrom(status: number, text: string, header: (name: string) => string | null): Failure {
  const wait = Number(header('retry-after'))
  const details = { request_id: header('x-request-id'), retry_after_seconds: wait > 0 ? wait : null }
  try {
    const { code, message, type, param } = JSON.parse(text).error
    return newFailure(status, String(code ?? type), String(message), { ...details, type, param })
  } catch {
    return newFailure(status, 'unexpected', `HTTP ${status}`, details)
  }
}

/** No answer came: offline, refused or cut. */
export function noAnswer(): Failure {
  return newFailure(0, 'network_failed', 'No answer from the service.')
}
