import type { Dispatcher } from 'undici'
import { OutboundError } from '../../platform/outbound/error.ts'
import { exchangeOnOrigin } from '../../platform/outbound/redirect.ts'
import { withTimeout } from '../../platform/timeout.ts'

export type FetchLimits = { idle_ms: number; total_ms: number }

/** Bounds one answer. */
const REPLY_BYTES_MAX = 64 * 1024 * 1024

/**
 * A `fetch` for provider packages that reaches one origin alone, its redirects included, and gives up after `idle_ms` of silence or
 * `total_ms` in all. Fails with OutboundError, which holds no URL, credential or body.
 */
export function guardedFetch(origin: string, dispatcher: Dispatcher, limits: FetchLimits): typeof fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    if (url.origin !== origin)
      throw new OutboundError('forbidden', 'The package calls an address other than its base_url.')
    const { body } = init
    if (body != null && typeof body !== 'string' && !(body instanceof Uint8Array))
      throw new OutboundError('forbidden', 'The package sends a body that is not text or bytes.')
    const idle = startIdle(limits.idle_ms)
    const signal = init.signal ? AbortSignal.any([init.signal, idle.signal]) : idle.signal
    try {
      const reply = await exchangeOnOrigin(
        dispatcher,
        origin,
        {
          method: (init.method ?? 'GET') as 'GET' | 'POST',
          path: url.pathname + url.search,
          headers: requestHeaders(init.headers),
          ...(body == null ? {} : { body }),
        },
        { timeout_ms: limits.total_ms, max_bytes: REPLY_BYTES_MAX, signal },
      )
      idle.heard()
      const bytes = watched(reply.body, idle)
      return new Response(reply.status < 400 ? bytes : untilSilence(bytes), {
        status: reply.status,
        headers: replyHeaders(reply.headers),
      })
    } catch (error) {
      idle.end()
      throw idle.fault(error)
    }
  }
}

type Idle = { signal: AbortSignal; heard(): void; end(): void; fault(error: unknown): unknown }

function startIdle(idle_ms: number): Idle {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(), idle_ms)
  return {
    signal: controller.signal,
    heard: () => void timer.refresh(),
    end: () => clearTimeout(timer),
    fault: (error) =>
      controller.signal.aborted ? new OutboundError('timeout', 'The model server fell silent.') : error,
  }
}

/** The same bytes, each of which sets the idle limit back. */
function watched(body: ReadableStream<Uint8Array>, idle: Idle): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          idle.heard()
          if (!done) return controller.enqueue(value)
          idle.end()
          controller.close()
        } catch (error) {
          idle.end()
          controller.error(idle.fault(error))
        }
      },
      cancel(reason) {
        idle.end()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}

/** How long the server of a refusal may be silent: what it has said by then is all that it says, also if it keeps the connection open. */
const REFUSAL_SILENCE_MS = 1500

function untilSilence(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await withTimeout(REFUSAL_SILENCE_MS, reader.read(), () => null)
        if (next?.value) return controller.enqueue(next.value)
        controller.close()
        if (next === null) await reader.cancel()
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

/** Framing and compression are ours. */
function requestHeaders(headers: RequestInit['headers']): Record<string, string> {
  const own = Object.fromEntries(new Headers(headers))
  for (const name of ['host', 'connection', 'content-length', 'transfer-encoding']) delete own[name]
  return { ...own, 'accept-encoding': 'identity' }
}

function replyHeaders(headers: Record<string, string | string[] | undefined>): Headers {
  const all = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    for (const each of [value ?? []].flat()) all.append(name, each)
  }
  return all
}
