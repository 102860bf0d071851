import { errorDetail } from '../../reply-error.ts'
import { statusOfError } from '../openai/read/error.ts'

/**
 * The same `fetch`, with an error that comes as JSON under status 200 given the status that it means. Packages read such a body as a stream
 * without events, and lose what it says.
 */
export function withErrorStatus(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const { ok, body, status, headers } = response
    if (!ok || body === null) return response
    const pieces = body[Symbol.asyncIterator]()
    const { done, value } = await pieces.next()
    if (done) return new Response(null, { status, headers })
    const whole = new Response(resumed(value, pieces), { status, headers })
    if (!JSON_TEXT.test(Buffer.from(value).toString('utf8'))) return whole
    const text = await whole.text()
    const isError = isJson(text) && errorDetail(text).message !== ''
    return new Response(text, { status: isError ? statusOfError(text) : status, headers })
  }
}

const JSON_TEXT = /^\s*[{[]/

/** Lines of JSON are none, and no error. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A body whose first piece has been read. */
function resumed<T>(first: T, rest: AsyncIterator<T, unknown>): ReadableStream<T> {
  return new ReadableStream<T>({
    start: (controller) => controller.enqueue(first),
    async pull(controller) {
      const next = await rest.next()
      if (next.done) controller.close()
      else controller.enqueue(next.value)
    },
    async cancel() {
      await rest.return?.()
    },
  })
}
