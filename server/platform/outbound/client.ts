import type { LookupFunction } from 'node:net'
import { Client, Pool } from 'undici'
import { parseExact } from '../json/parse-exact.ts'
import { OutboundError } from './error.ts'
import { discard, exchange, firstChunk, type OutboundBody, type OutboundReply, readAll } from './exchange.ts'
import { guardedConnector, parsePublicUrl } from './guard.ts'
import { exchangeOnOrigin } from './redirect.ts'

export type EngineClientOptions = {
  base_url: string
  api_key?: string
  /** Sent with every request; they win over what the client sets itself. */
  headers?: Record<string, string>
  /** Bounds one call, its reply included. */
  timeout_ms?: number
  reply_max_bytes?: number
}

export type EngineCall = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below the base URL, beginning with a slash; parts that are not ours are encoded by the caller. */
  path: string
  json?: unknown
  body?: { content_type: string; data: OutboundBody }
  headers?: Record<string, string>
  timeout_ms?: number
}

export type EngineReply = {
  status: number
  headers: OutboundReply['headers']
  text: string
  /** The parsed body; undefined when it is not JSON. Whole numbers that JavaScript cannot hold are text. */
  json: unknown
}

/** Speaks to one configured origin and to no other. That origin may be private. */
export type EngineClient = {
  /** Redirects on the origin are followed. Any status is returned. */
  call(call: EngineCall, signal: AbortSignal): Promise<EngineReply>
  /** The body of a GET as it arrives. `target` is a path as above, or a whole URL of this origin. Any status is returned, redirects too. */
  open(target: string, limits: { max_bytes: number; timeout_ms: number }, signal: AbortSignal): Promise<OutboundReply>
  /** True when `url` is of the configured origin, so that the credential may go there. */
  owns(url: string): boolean
  /** A reference found in a reply to `target`, as a whole URL. Throws OutboundError `unreadable`. */
  resolve(target: string, reference: string): string
  close(): Promise<void>
}

/** A client for an engine the operator named. Throws OutboundError, which holds no URL, credential or body. */
export function engineClient(options: EngineClientOptions): EngineClient {
  const base = new URL(options.base_url)
  const root = base.pathname.replace(/\/+$/, '')
  const pool = new Pool(base.origin, { connections: CONNECTIONS_MAX, allowH2: false, connectTimeout: CONNECT_MS })
  const own = ownHeaders(options)

  return {
    async call(call, signal) {
      const limits = {
        timeout_ms: call.timeout_ms ?? options.timeout_ms ?? CALL_MS,
        max_bytes: options.reply_max_bytes ?? REPLY_BYTES_MAX,
        signal,
      }
      const path = pathBelow(base, root, call.path)
      const headers = { accept: 'application/json', ...own, ...call.headers, ...contentType(call) }
      const body = call.json === undefined ? call.body?.data : JSON.stringify(call.json)
      const reply = await exchangeOnOrigin(
        pool,
        base.origin,
        { method: call.method, path, headers, ...(body === undefined ? {} : { body }) },
        limits,
      )
      const text = (await readAll(reply.body)).toString('utf8')
      return { status: reply.status, headers: reply.headers, text, json: parseExact(text) }
    },

    open(target, limits, signal) {
      const path = target.startsWith('/') ? pathBelow(base, root, target) : pathOfOrigin(base, target)
      return exchange(pool, { method: 'GET', path, headers: own }, { ...limits, signal })
    },

    owns: (url) => URL.canParse(url) && new URL(url).origin === base.origin,
    resolve(target, reference) {
      const from = target.startsWith('/') ? base.origin + root + target : target
      if (!URL.canParse(reference, from)) throw new OutboundError('unreadable', 'The reply holds a broken URL.')
      return new URL(reference, from).href
    },
    close: () => pool.destroy(),
  }
}

export type PublicOptions = {
  max_bytes: number
  /** Bounds the whole exchange. 10 s when absent. */
  timeout_ms?: number
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string | Uint8Array
  https_only?: boolean
  /** Origins the operator declares to be their own: exempt from the rules about ports and addresses, not from the limits. */
  trusted_origins?: readonly string[]
  lookup?: LookupFunction
  signal?: AbortSignal
}

/**
 * The status and headers of the answer to a POST, as `publicRequest` sends it, and of its body the first chunk: null where it is
 * compressed, or does not come soon. Throws OutboundError.
 */
export async function publicPost(
  url: string,
  options: Omit<PublicOptions, 'method' | 'max_bytes'>,
): Promise<Pick<OutboundReply, 'status' | 'headers'> & { beginning: Uint8Array | null }> {
  const max_bytes = Number.MAX_SAFE_INTEGER
  const reply = await publicExchange(url, { ...options, method: 'POST', max_bytes }, { ignore_body: true })
  const first = await firstChunk(reply)
  const { status, headers } = reply
  return { status, headers, beginning: headers['content-encoding'] === undefined ? first : null }
}

/**
 * A request to an address that came from outside: public hosts on ports 80 and 443 only, no redirects, no proxy, no credential.
 * Any status is returned. Throws OutboundError.
 */
export function publicRequest(url: string, options: PublicOptions): Promise<OutboundReply> {
  return publicExchange(url, options, { ignore_body: false })
}

async function publicExchange(
  url: string,
  options: PublicOptions,
  { ignore_body }: { ignore_body: boolean },
): Promise<OutboundReply> {
  const timeout_ms = options.timeout_ms ?? PUBLIC_MS
  const trusted = URL.canParse(url) && (options.trusted_origins ?? []).includes(new URL(url).origin)
  const target = trusted ? new URL(url) : parsePublicUrl(url, { https_only: options.https_only ?? false })
  const connect = trusted ? {} : guardedConnector({ timeout_ms, ...(options.lookup ? { lookup: options.lookup } : {}) })
  const client = new Client(target.origin, { connect, allowH2: false })
  const { method = 'GET', headers = {}, body, max_bytes, signal } = options
  const request = {
    method,
    path: target.pathname + target.search,
    headers,
    ...(body === undefined ? {} : { body }),
  }
  const onEnd = () => void client.destroy()
  const limits = { timeout_ms, max_bytes, ignore_body, from_outside: true, onEnd }
  return exchange(client, request, { ...limits, ...(signal ? { signal } : {}) })
}

/** GETs a file from an address that came from outside. `media`: accepted types, `video/*` for all of a kind. Only status 200 is a file. */
export async function publicFetch(
  url: string,
  options: Omit<PublicOptions, 'method' | 'body'> & { media: readonly string[] },
): Promise<OutboundReply> {
  const reply = await publicRequest(url, options)
  if (reply.status !== 200) {
    await discard(reply)
    throw new OutboundError('refused', 'The host did not answer with a file.', String(reply.status))
  }
  if (!options.media.some((accepted) => isMedia(reply.media_type, accepted))) {
    await discard(reply)
    throw new OutboundError('unreadable', 'The host answered with a file of another type.')
  }
  return reply
}

const CONNECTIONS_MAX = 64
const CONNECT_MS = 10_000
const CALL_MS = 60_000
const PUBLIC_MS = 10_000
const REPLY_BYTES_MAX = 4 * 1024 * 1024

function ownHeaders({ api_key, headers = {} }: EngineClientOptions): Record<string, string> {
  const own = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  return api_key === undefined || api_key === '' ? own : { authorization: `Bearer ${api_key}`, ...own }
}

function contentType(call: EngineCall): Record<string, string> {
  if (call.json !== undefined) return { 'content-type': 'application/json' }
  return call.body === undefined ? {} : { 'content-type': call.body.content_type }
}

function pathBelow(base: URL, root: string, path: string): string {
  const url = new URL(base.origin + root + path)
  if (url.origin !== base.origin || !url.pathname.startsWith(`${root}/`))
    throw new OutboundError('forbidden', 'The path leads out of the configured address.')
  return url.pathname + url.search
}

function pathOfOrigin(base: URL, target: string): string {
  const url = URL.canParse(target) ? new URL(target) : null
  if (url?.origin !== base.origin) throw new OutboundError('forbidden', 'The URL is not of the configured origin.')
  return url.pathname + url.search
}

function isMedia(type: string | null, accepted: string): boolean {
  return accepted.endsWith('/*') ? (type?.startsWith(accepted.slice(0, -1)) ?? false) : type === accepted
}
