export type HttpResponse = {
  status: number
  headers: Headers
  text: string
  /** The JSON of the text; null where it is something else. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses of many shapes.
  body: any
}

/** Who sends a request: an API key or a browser. */
export type Caller = { key?: string; cookie?: string; headers?: Record<string, string>; signal?: AbortSignal }

/** Calls the service and reads the response. A body is sent as JSON; bytes and forms are sent as they are. Redirects are not followed. */
export async function send(
  app: { url: string },
  method: string,
  path: string,
  caller: Caller = {},
  body?: unknown,
): Promise<HttpResponse> {
  const headers: Record<string, string> = {
    ...(caller.key && bearer(caller.key)),
    ...(caller.cookie && { cookie: caller.cookie }),
    ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
    ...caller.headers,
  }
  const response = await fetch(app.url + path, {
    method,
    headers,
    redirect: 'manual',
    ...(body !== undefined && { body: isRaw(body) ? body : JSON.stringify(body) }),
    ...(caller.signal && { signal: caller.signal }),
  })
  const text = await response.text()
  const json = /^application\/([\w.]+\+)?json\b/.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: json && text !== '' ? JSON.parse(text) : null,
  }
}

export function bearer(key: string): { authorization: string } {
  return { authorization: `Bearer ${key}` }
}

function isRaw(body: unknown): body is Uint8Array<ArrayBuffer> | FormData {
  return body instanceof Uint8Array || body instanceof FormData
}
