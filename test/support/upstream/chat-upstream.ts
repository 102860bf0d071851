import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { close, listen } from '../listen.ts'

export type UpstreamRequest = {
  path: string
  headers: IncomingMessage['headers']
  /** The parsed body; undefined when it is not JSON. */
  json: Record<string, unknown> | undefined
}

/**
 * What a request is answered with. `stream`: objects are sent as `data:` events, strings as they are; `finally` is what follows them,
 * `piece_bytes` cuts the body into separate writes. `type` is the media type in place of the right one, null for none; `coding` compresses.
 * `flood` repeats one event for as long as the client reads. `raw` goes on the socket without HTTP. `stall` holds the request until
 * `release()`, then answers normally.
 */
export type UpstreamReply =
  | ({ kind: 'json'; body: unknown } & Head)
  | ({
      kind: 'stream'
      frames: ReadonlyArray<object | string>
      line_break?: '\n' | '\r\n' | '\r'
      done?: boolean
      /** Frames sent before the rest waits for `release()`. */
      hold_after?: number
      finally?: 'end' | 'stall' | 'reset'
      piece_bytes?: number
    } & Head)
  | { kind: 'flood'; frame: object }
  | { kind: 'raw'; bytes: string }
  | { kind: 'reset' | 'stall' }

type Head = { status?: number; type?: string | null; coding?: keyof typeof CODINGS; headers?: Record<string, string> }

const CODINGS = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
} as const

/** An OpenAI-compatible chat server on a real socket, scripted by the test. */
export type ChatUpstream = {
  /** Its base URL, `/v1` included. */
  url: string
  requests: UpstreamRequest[]
  /** Queues answers for the next requests; after them comes the usual one. */
  reply(...replies: UpstreamReply[]): void
  /** The usual answer, until set again. Null: a short text, streamed when asked for. */
  always(reply: UpstreamReply | null): void
  /** Resolves with the next request, or one received and not asked for before. */
  received(): Promise<UpstreamRequest>
  /** Resolves when the client has left an answer that was not complete. */
  left(): Promise<void>
  release(): void
  /** Connections open now, and all there ever were. */
  connections(): { open: number; all: number }
  /** Bytes of floods that the client's side has taken. */
  flooded(): number
  close(): Promise<void>
}

export async function startChatUpstream(): Promise<ChatUpstream> {
  const requests: UpstreamRequest[] = []
  const queued: UpstreamReply[] = []
  const stalled: Array<() => void> = []
  const arrivals = mailbox<UpstreamRequest>()
  const departures = mailbox<void>()
  const sockets = new Set<Socket>()
  const count = { all: 0, flooded: 0 }
  let usual: UpstreamReply | null = null

  const server = createServer(async (incoming, response) => {
    response.on('close', () => {
      if (!response.writableFinished) departures.post()
    })
    const request = await readRequest(incoming)
    requests.push(request)
    arrivals.post(request)
    const reply = queued.shift() ?? usual ?? usualReply(request)
    if (reply.kind === 'stall') stalled.push(() => send(response, usualReply(request), { stalled, count }))
    else send(response, reply, { stalled, count })
  })
  server.on('connection', (socket) => {
    count.all += 1
    sockets.add(socket.setNoDelay(true))
    socket.on('close', () => sockets.delete(socket))
  })
  return {
    url: `http://127.0.0.1:${await listen(server)}/v1`,
    requests,
    reply: (...replies) => void queued.push(...replies),
    always: (reply) => {
      usual = reply
    },
    received: arrivals.take,
    left: departures.take,
    release: () => stalled.splice(0).forEach((proceed) => void proceed()),
    connections: () => ({ open: sockets.size, all: count.all }),
    flooded: () => count.flooded,
    close: () => close(server),
  }
}

/** One chunk of a streamed answer, of choice 0 by default. */
export function chunk(
  delta: object,
  more: { index?: number; finish_reason?: unknown; logprobs?: unknown; usage?: unknown } = {},
): object {
  const { index = 0, finish_reason = null, logprobs = null, ...members } = more
  return {
    ...ENVELOPE,
    object: 'chat.completion.chunk',
    choices: [{ index, delta, logprobs, finish_reason }],
    ...members,
  }
}

/** A whole answer of one choice. */
export function completion(
  message: object,
  more: { finish_reason?: string | null; usage?: unknown; logprobs?: unknown } = {},
): object {
  const { finish_reason = 'stop', usage = USAGE, logprobs = null } = more
  const choice = { index: 0, message: { role: 'assistant', ...message }, logprobs, finish_reason }
  return { ...ENVELOPE, object: 'chat.completion', choices: [choice], usage }
}

/** A streamed answer in the order of OpenAI: role, text in pieces, finish, usage. */
export function textFrames(pieces: readonly string[]): object[] {
  return [
    chunk({ role: 'assistant', content: '' }),
    ...pieces.map((content) => chunk({ content })),
    chunk({}, { finish_reason: 'stop' }),
    { ...ENVELOPE, object: 'chat.completion.chunk', choices: [], usage: USAGE },
  ]
}

export const USAGE = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 }

/** What no client of ours may ever see. */
export const UPSTREAM_MODEL = 'canary/secret-upstream-model'
const ENVELOPE = {
  id: 'chatcmpl-upstream',
  created: 1_790_000_000,
  model: UPSTREAM_MODEL,
  system_fingerprint: 'fp_canary',
}

/** As many choices as asked for: a call of the first tool when tools are offered, else a short text. */
function usualReply({ json }: UpstreamRequest): UpstreamReply {
  const indexes = Array.from({ length: typeof json?.n === 'number' ? json.n : 1 }, (_, i) => i)
  const called = toolNamed(json?.tools)
  const finish_reason = called === null ? 'stop' : 'tool_calls'
  const call = { id: 'call_1', type: 'function', function: { name: called, arguments: '{}' } }
  const message = called === null ? { content: 'Hello there.' } : { content: null, tool_calls: [{ index: 0, ...call }] }
  if (json?.stream !== true) {
    const whole = completion({})
    const choices = indexes.map((index) => ({ index, message: { role: 'assistant', ...message }, finish_reason }))
    return { kind: 'json', body: { ...whole, choices } }
  }
  const frames = [
    ...indexes.map((index) => chunk({ role: 'assistant', content: '' }, { index })),
    ...indexes.map((index) => chunk(message, { index })),
    ...indexes.map((index) => chunk({}, { index, finish_reason })),
    ...textFrames([]).slice(-1),
  ]
  return { kind: 'stream', frames, piece_bytes: 300 }
}

function toolNamed(tools: unknown): string | null {
  return Array.isArray(tools) ? (tools[0] as { function: { name: string } }).function.name : null
}

type Shared = { stalled: Array<() => void>; count: { flooded: number } }

function send(response: ServerResponse, reply: UpstreamReply, shared: Shared): void {
  if (response.destroyed) return
  switch (reply.kind) {
    case 'json': {
      const { body } = reply
      const bytes = encoded(typeof body === 'string' ? body : JSON.stringify(body), reply)
      writeHead(response, reply, typeof body === 'string' ? 'text/html' : 'application/json')
      return void response.end(bytes)
    }
    case 'raw':
      return void response.socket?.end(reply.bytes)
    case 'flood':
      return void flood(response, `data: ${JSON.stringify(reply.frame)}\n\n`, shared.count)
    case 'stream':
      return void sendStream(response, reply, shared.stalled)
    default:
      return void response.socket?.resetAndDestroy()
  }
}

function sendStream(
  response: ServerResponse,
  reply: UpstreamReply & { kind: 'stream' },
  stalled: Array<() => void>,
): void {
  const { frames, line_break: eol = '\n', done = true, finally: last = 'end' } = reply
  const events = frames.map((frame) =>
    typeof frame === 'string' ? frame : `data: ${JSON.stringify(frame)}${eol}${eol}`,
  )
  const body = encoded(events.join('') + (done ? `data: [DONE]${eol}${eol}` : ''), reply)
  const held = reply.hold_after === undefined ? -1 : Buffer.byteLength(events.slice(0, reply.hold_after).join(''))
  const size = reply.piece_bytes ?? (held > 0 ? held : Math.max(body.length, 1))
  writeHead(response, reply, 'text/event-stream; charset=utf-8')
  response.flushHeaders()
  const step = (at: number, released = false): void => {
    if (response.destroyed) return
    if (at === held && !released) return void stalled.push(() => step(at, true))
    if (at < body.length) return void response.write(body.subarray(at, at + size), () => setImmediate(step, at + size))
    if (last === 'end') response.end()
    else if (last === 'reset') response.socket?.resetAndDestroy()
    else stalled.push(() => response.end())
  }
  step(0)
}

function writeHead(response: ServerResponse, { status = 200, type, coding, headers }: Head, usual: string): void {
  response.writeHead(status, {
    ...(type === null ? {} : { 'content-type': type ?? usual }),
    ...(coding && { 'content-encoding': coding }),
    ...headers,
  })
}

function encoded(text: string, { coding }: Head): Buffer {
  return coding === undefined ? Buffer.from(text) : CODINGS[coding](text)
}

function flood(response: ServerResponse, event: string, count: { flooded: number }): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const more = () => {
    while (!response.destroyed) {
      count.flooded += event.length
      if (!response.write(event)) return void response.once('drain', more)
    }
  }
  more()
}

async function readRequest(incoming: IncomingMessage): Promise<UpstreamRequest> {
  const pieces: Buffer[] = []
  for await (const piece of incoming) pieces.push(piece as Buffer)
  let json: Record<string, unknown> | undefined
  try {
    json = JSON.parse(Buffer.concat(pieces).toString('utf8'))
  } catch {
    json = undefined
  }
  return { path: incoming.url ?? '', headers: incoming.headers, json }
}

function mailbox<T>(): { post(item: T): void; take(): Promise<T> } {
  const items: T[] = []
  const takers: Array<(item: T) => void> = []
  return {
    post(item) {
      const taker = takers.shift()
      if (taker) taker(item)
      else items.push(item)
    },
    take: () => (items.length > 0 ? Promise.resolve(items.shift()!) : new Promise((resolve) => takers.push(resolve))),
  }
}
