import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { codingsOf, decodeChunks } from './decode.ts'
import { OutboundError } from './error.ts'

/** `chunks` reads the bytes from the beginning each time it is called: a redirect has them sent again. */
export type OutboundBody = string | Uint8Array | { size_bytes: number; chunks(): AsyncIterable<Uint8Array> }

export type OutboundRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Path with its query, as it goes on the wire. */
  path: string
  headers: Record<string, string>
  body?: OutboundBody
}

/** `timeout_ms` bounds the whole exchange, the body included; `max_bytes` the body, as it arrives and decoded. */
export type OutboundLimits = {
  timeout_ms: number
  max_bytes: number
  signal?: AbortSignal
  /** Only status, headers and the first chunk are wanted: the body is not decoded, and whatever it is, hardly more than that is read. */
  ignore_body?: boolean
  /** The server is not the operator's: more than one informational answer, or many short frames or blocks of zstd, make its reply unreadable. */
  from_outside?: boolean
  /** Called once when nothing more will come. */
  onEnd?: () => void
}

export type OutboundReply = {
  status: number
  /** Without `content-encoding` and `content-length` where the body was compressed. */
  headers: Record<string, string | string[] | undefined>
  /** `content-type` without its parameters, in lower case. */
  media_type: string | null
  size_bytes: number | null
  /** Fails with OutboundError when the limits are exceeded or the connection breaks. Cancel it to give the connection up. */
  body: ReadableStream<Uint8Array>
}

/**
 * One request and its reply, within limits. Follows no redirect. Compression is not asked for; a body that is compressed all the same is
 * decoded. Throws OutboundError only.
 */
export async function exchange(
  dispatcher: Dispatcher,
  request: OutboundRequest,
  limits: OutboundLimits,
): Promise<OutboundReply> {
  const deadline = startDeadline(limits)
  try {
    const reply = await dispatcher.request({
      method: request.method,
      path: request.path,
      headers: {
        'user-agent': 'kinora',
        'accept-encoding': 'identity',
        ...request.headers,
        ...bodyHeaders(request.body),
      },
      body: bodyChunks(request.body),
      signal: deadline.signal,
      headersTimeout: 0,
      bodyTimeout: 0,
      ...(limits.from_outside ? { onInfo: refuseSecond() } : {}),
      // Beyond it the connection is paused. By default all chunks of a read are parsed first, up to 10,000 of one byte.
      ...(limits.ignore_body ? { highWaterMark: 1 } : {}),
    })
    reply.body.on('error', () => {})
    const declared = sizeOf(reply.headers)
    if (!limits.ignore_body && declared !== null && declared > limits.max_bytes) {
      reply.body.destroy()
      throw tooLarge()
    }
    const codings = limits.ignore_body ? [] : codingsOf(reply.headers['content-encoding'])
    const coded = codings.length > 0
    const chunks = coded
      ? decodeChunks(reply.body, codings, { few_frames: limits.from_outside ?? false })
      : reply.body[Symbol.asyncIterator]()
    return {
      status: reply.statusCode,
      headers: coded ? withoutCoding(reply.headers) : reply.headers,
      media_type: mediaType(reply.headers),
      size_bytes: coded ? null : declared,
      body: bodyStream(reply.body, chunks, limits.max_bytes, deadline),
    }
  } catch (error) {
    deadline.end()
    throw outboundError(error, deadline)
  }
}

/** The whole body. It is already capped by the limits of its exchange. */
export async function readAll(body: ReadableStream<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** How long a first chunk may take after the head: it is of use to people, and not worth the time of others who wait. */
const FIRST_CHUNK_MS = 1000

/** The first chunk of a body; the rest is given up. Null when there is none, or when it does not come soon. */
export async function firstChunk(reply: OutboundReply): Promise<Uint8Array | null> {
  const reader = reply.body.getReader()
  const giveUp = () => reader.cancel().catch(() => {})
  const timer = setTimeout(giveUp, FIRST_CHUNK_MS)
  const { value = null } = await reader.read().catch(() => ({ value: null }))
  clearTimeout(timer)
  await giveUp()
  return value
}

/** Gives a reply up without reading it. */
export async function discard(reply: OutboundReply): Promise<void> {
  await reply.body.cancel().catch(() => {})
}

type Deadline = { signal: AbortSignal; cause(): 'timeout' | 'aborted' | null; end(): void }

function startDeadline({ timeout_ms, signal, onEnd }: OutboundLimits): Deadline {
  const controller = new AbortController()
  let cause: 'timeout' | 'aborted' | null = null
  let ended = false
  const end = () => {
    if (ended) return
    ended = true
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    onEnd?.()
  }
  const stop = (why: 'timeout' | 'aborted') => {
    cause ??= why
    controller.abort()
    end()
  }
  const onAbort = () => stop('aborted')
  const timer = setTimeout(() => stop('timeout'), timeout_ms)
  signal?.addEventListener('abort', onAbort, { once: true })
  if (signal?.aborted) onAbort()
  return { signal: controller.signal, cause: () => cause, end }
}

/** Pulled by its reader, so a slow reader slows the sender down. Ends the exchange also when it is canceled before its first read. */
function bodyStream(
  body: Readable,
  chunks: AsyncIterator<Buffer>,
  maxBytes: number,
  deadline: Deadline,
): ReadableStream<Uint8Array> {
  let total = 0
  const stop = () => {
    deadline.end()
    body.destroy()
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await chunks.next()
          if (done) {
            stop()
            return controller.close()
          }
          total += value.length
          if (total > maxBytes) throw tooLarge()
          controller.enqueue(new Uint8Array(value.buffer, value.byteOffset, value.length))
        } catch (error) {
          const fault = outboundError(error, deadline)
          stop()
          controller.error(fault)
        }
      },
      cancel: stop,
    },
    { highWaterMark: 0 },
  )
}

/** Informational answers cost little to send, and each is parsed until the time is over. What it throws ends the exchange. */
function refuseSecond(): () => void {
  let count = 0
  return () => {
    count += 1
    if (count > 1) throw new OutboundError('unreadable', 'The reply has more than one informational answer.')
  }
}

function bodyHeaders(body: OutboundBody | undefined): Record<string, string> {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) return {}
  return { 'content-length': String(body.size_bytes) }
}

function bodyChunks(body: OutboundBody | undefined) {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) return body ?? null
  return Readable.from(body.chunks(), { objectMode: false })
}

function withoutCoding(headers: OutboundReply['headers']): OutboundReply['headers'] {
  const { 'content-encoding': _, 'content-length': __, ...rest } = headers
  return rest
}

function sizeOf(headers: OutboundReply['headers']): number | null {
  const size = Number(headers['content-length'] ?? Number.NaN)
  return Number.isSafeInteger(size) && size >= 0 ? size : null
}

function mediaType(headers: OutboundReply['headers']): string | null {
  const value = headers['content-type']
  const type = typeof value === 'string' ? value.split(';')[0]!.trim().toLowerCase() : ''
  return type === '' ? null : type
}

function tooLarge(): OutboundError {
  return new OutboundError('too_large', 'The reply is larger than allowed.')
}

/** Codes of undici's parser and of decoders. */
const UNREADABLE =
  /^(HPE_|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|UND_ERR_HEADERS_OVERFLOW|Z_|ERR_BROTLI|ERR__ERROR_FORMAT|ERR_ZSTD|ZSTD_)/

/** undici's errors may name hosts and headers, so only their code is kept. */
function outboundError(error: unknown, deadline: Deadline): OutboundError {
  if (error instanceof OutboundError) return error
  const cause = deadline.cause()
  if (cause === 'timeout') return new OutboundError('timeout', 'The reply did not come in time.')
  if (cause === 'aborted') return new OutboundError('aborted', 'The request was given up.')
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
  if (code !== undefined && UNREADABLE.test(code))
    return new OutboundError('unreadable', 'The reply breaks the protocol.', code)
  if (code?.startsWith('UND_ERR_CONNECT_TIMEOUT'))
    return new OutboundError('timeout', 'The connection was not opened in time.', code)
  return new OutboundError('unreachable', 'The connection failed.', code)
}
