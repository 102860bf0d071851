import { failureFrom, noAnswer } from './failure.ts'

export type Query = Record<string, string | number | boolean | null | undefined>
export type RequestOptions = {
  body?: unknown
  query?: Query
  signal?: AbortSignal
  headers?: Record<string, string>
  /** Sent although the page is left meanwhile. */
  keepalive?: boolean
}
export type RequestMethod = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

/**
 * Sends a request as the signed-in person and returns the JSON response. Rejects with a `Failure`; an abort rejects with the
 * DOMException of the signal.
 */
export async function request<T>(method: RequestMethod, path: string, options: RequestOptions = {}): Promise<T> {
  const response = await openRequest(method, path, options)
  return (await readJson(response)) as T
}

/** The response once its headers have arrived, for streams and bytes. Rejects as `request` does. */
export async function openRequest(
  method: RequestMethod,
  path: string,
  options: RequestOptions = {},
): Promise<Response> {
  const { body, query, signal, headers, keepalive = false } = options
  const json = body !== undefined && !(body instanceof FormData)
  const response = await fetch(path + queryOf(query), {
    method,
    credentials: 'same-origin',
    keepalive,
    headers: { ...(json && { 'content-type': 'application/json' }), ...headers },
    body: json ? JSON.stringify(body) : ((body as FormData | undefined) ?? null),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    throw signal?.aborted ? error : noAnswer()
  })
  if (!response.ok) {
    const text = await response.text().catch(() => '')
    throw failureFrom(response.status, text, (name) => response.headers.get(name))
  }
  return response
}

/** `?a=1&b=2`, or an empty string; parameters without a value are left out. */
export function queryOf(query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '')
  if (given.length === 0) return ''
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch {
    throw noAnswer()
  }
}
