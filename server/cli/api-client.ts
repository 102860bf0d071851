import { createWriteStream, openAsBlob } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** The service answered with an error or not at all. The message is shown at the terminal. */
export class ApiCallError extends Error {
  override name = 'ApiCallError'
  /** Null when there was no answer. */
  readonly status: number | null
  readonly code: string | null
  readonly retry_after_seconds: number | null
  /** Whether the same call may succeed shortly: there was no answer, or the service is busy or failed. */
  readonly transient: boolean
  /** What was answered in place of Kinora, by a proxy for instance; null for its own errors and without an answer. */
  readonly foreign: ForeignAnswer | null

  constructor(
    message: string,
    facts: {
      status?: number
      code?: string | null
      retry_after_seconds?: number | null
      transient?: boolean
      foreign?: ForeignAnswer
      cause?: unknown
    } = {},
  ) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.status = facts.status ?? null
    this.code = facts.code ?? null
    this.retry_after_seconds = facts.retry_after_seconds ?? null
    this.foreign = facts.foreign ?? null
    this.transient =
      facts.transient ?? (this.status === null || this.status >= 500 || TRANSIENT_CODES.has(this.code ?? ''))
  }
}

/** `title` is the title of a page, or else how the text begins. */
export type ForeignAnswer = { media_type: string; server: string | null; title: string }

const TRANSIENT_CODES: ReadonlySet<string> = new Set(['rate_limit_exceeded', 'idempotency_in_progress'])

export type Answer<T> = { body: T; headers: Headers }

/** A client of the public API. Every call throws ApiCallError. */
export type ApiClient = {
  base_url: string
  call<T>(method: string, path: string, options?: ApiCallOptions): Promise<Answer<T>>
  /** The answer itself, when it is a success: for bytes and streams. */
  send(method: string, path: string, options?: Omit<RequestInit, 'method' | 'redirect'>): Promise<Response>
  /** Uploads one file for `purpose` and returns its id. */
  upload(path: string, purpose: 'vision' | 'video' | 'audio', signal?: AbortSignal): Promise<string>
  /** Saves the body as `to`, completely or not at all, and returns its size in bytes. */
  download(path: string, to: string, signal?: AbortSignal): Promise<number>
}

export type ApiCallOptions = { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal }

/** Calls the service at `base_url`, with or without `/v1` at its end, with these headers on every call. */
export function openApiClient(base_url: string, headers: Record<string, string>): ApiClient {
  const base = base_url.replace(/\/+$/, '').replace(/\/v1$/, '')
  const send = (path: string, init: RequestInit) =>
    exchange(base, path, { ...init, headers: { ...headers, ...init.headers } })
  return {
    base_url: base,
    async call<T>(method: string, path: string, { body, headers = {}, signal }: ApiCallOptions = {}) {
      const json =
        body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { ...headers, 'content-type': 'application/json' } }
      const response = await send(path, { method, headers, signal, ...json })
      return { body: await jsonOf<T>(response), headers: response.headers }
    },
    send: (method, path, options) => send(path, { ...options, method }),
    async upload(path, purpose, signal) {
      const form = new FormData()
      form.set('purpose', purpose)
      form.set('file', await openAsBlob(path), basename(path))
      const response = await send('/v1/files', { method: 'POST', body: form, signal })
      return (await jsonOf<{ id: string }>(response)).id
    },
    async download(path, to, signal) {
      const response = await send(path, { signal })
      return saveBody(response, to, signal)
    },
  }
}

/** Repeats an idempotent call while it fails with a transient error, for at most `seconds`. */
export async function retryTransient<T>(seconds: number, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  const until = performance.now() + seconds * 1000
  for (let wait = 0.5; ; wait = Math.min(wait * 2, 8)) {
    try {
      return await call()
    } catch (error) {
      const again = error instanceof ApiCallError && error.transient && performance.now() < until && !signal.aborted
      if (!again) throw error
      await sleep((error.retry_after_seconds ?? wait) * 1000, undefined, { signal })
    }
  }
}

async function exchange(base: string, path: string, init: RequestInit): Promise<Response> {
  let response: Response
  try {
    response = await fetch(base + path, { ...init, redirect: 'error' })
  } catch (error) {
    if (init.signal?.aborted) throw error
    throw new ApiCallError(
      `No answer from ${base}${reasonOf(error)}. Is the service running there? KINORA_BASE_URL names it.`,
      { cause: error },
    )
  }
  if (response.ok) return response
  throw await errorOf(response)
}

async function jsonOf<T>(response: Response): Promise<T> {
  const text = await response.text().catch((error: unknown) => {
    throw error instanceof DOMException
      ? error
      : new ApiCallError(`The answer broke off${reasonOf(error)}.`, { cause: error })
  })
  try {
    return JSON.parse(text) as T
  } catch {
    throw foreignError(response, text, { transient: false })
  }
}

async function errorOf(response: Response): Promise<ApiCallError> {
  const text = await response.text().catch(() => '')
  const retry = Number(response.headers.get('retry-after') ?? Number.NaN)
  const retry_after_seconds = Number.isFinite(retry) ? retry : null
  try {
    const { error } = JSON.parse(text) as { error: { message: string; code: string | null; param: string | null } }
    const field = error.param ? ` (${error.param})` : ''
    return new ApiCallError(`${error.message}${field}`, {
      status: response.status,
      retry_after_seconds,
      code: error.code,
    })
  } catch {
    return foreignError(response, text, { retry_after_seconds })
  }
}

function foreignError(
  { status, headers }: Response,
  text: string,
  facts: { transient?: boolean; retry_after_seconds?: number | null },
): ApiCallError {
  const title = /<title>([^<]+)/i.exec(text)?.[1] ?? text.slice(0, 80)
  const foreign = {
    media_type: headers.get('content-type')?.split(';', 1)[0] ?? 'no content type',
    server: headers.get('server'),
    title: title
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .trim()
      .slice(0, 80),
  }
  return new ApiCallError(`The answer was HTTP ${status}, and not from a Kinora service. Check KINORA_BASE_URL.`, {
    ...facts,
    status,
    foreign,
  })
}

async function saveBody(response: Response, to: string, signal?: AbortSignal): Promise<number> {
  const draft = join(dirname(to), `.${basename(to)}.${process.pid}.part`)
  const file = createWriteStream(draft, { flush: true })
  try {
    await pipeline(Readable.fromWeb(response.body as never), file, { signal })
    const announced = Number(response.headers.get('content-length') ?? file.bytesWritten)
    if (announced !== file.bytesWritten) throw new ApiCallError('The download ended early.')
    await rename(draft, to)
    return file.bytesWritten
  } catch (error) {
    await rm(draft, { force: true })
    if (error instanceof ApiCallError || signal?.aborted) throw error
    const local =
      (error as NodeJS.ErrnoException).path !== undefined || (error as NodeJS.ErrnoException).syscall === 'write'
    if (local)
      throw new ApiCallError(`Cannot write ${to}: ${(error as Error).message}`, { transient: false, cause: error })
    throw new ApiCallError(`The download broke off${reasonOf(error)}.`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: string; message?: string } }
  const reason = cause?.code ?? cause?.message
  return reason ? ` (${reason})` : ''
}

/** Where the client commands find the service. */
export function baseUrl(env: NodeJS.ProcessEnv): string {
  return env.KINORA_BASE_URL || 'http://127.0.0.1:8080'
}
