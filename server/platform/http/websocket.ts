import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type WebSocket, WebSocketServer } from 'ws'
import { ApiError, overloaded } from '../errors.ts'
import type { Log } from '../log.ts'
import { asSentence } from '../text.ts'
import type { ByteBudget, Lease } from './body/byte-budget.ts'
import { deliverMessages, type OnMessage } from './body/messages.ts'
import { JSON_BYTES_MAX } from './body/parsers.ts'

/** One client over WebSocket, from the end of its handshake on. */
export type WebSocketConnection = {
  /** Names the handshake in answers and logs. */
  request_id: string
  /** Aborts when the client has left, or was cut off because it does not read or does not answer pings. */
  signal: AbortSignal
  /** Aborts when the service shuts down: end what is under way, then close with 1001. */
  draining: AbortSignal
  /** Sends text messages, in as few writes as it takes. Resolves when the client keeps up; await it before producing more. */
  send(...texts: readonly string[]): Promise<void> | undefined
  /** Closes after what was sent. No further message is delivered. */
  close(code: number, reason: string): void
}

/**
 * A ping goes out every `ping_seconds`; a client that left two unanswered is gone. One that takes nothing for `stalled_seconds`, with
 * bytes waiting, is cut off. A closing handshake may take `close_timeout_seconds`.
 */
export type SocketTiming = { ping_seconds: number; stalled_seconds: number; close_timeout_seconds: number }
export const SOCKET_TIMING: SocketTiming = { ping_seconds: 30, stalled_seconds: 30, close_timeout_seconds: 5 }

/** Connections of one process, and of one owner among them: each may hold buffers of a whole message. */
export type SocketLimits = { connections_max: number; per_owner_max: number }
const SOCKET_LIMITS: SocketLimits = { connections_max: 2000, per_owner_max: 200 }

const PONGS_MISSED_MAX = 2
/** What may wait in memory for a client before its producer waits too. */
const WAITING_BYTES_MAX = 64 * 1024
/** Messages that may have been on their way when we closed. A client that goes on sending is cut off. */
const LATE_MESSAGES_MAX = 1000

export type Sockets = {
  /** Whether a request asks for an upgrade that the service makes. Any other `Upgrade` is answered as if it were not there. */
  isHandshake(request: IncomingMessage): boolean
  /** Takes the handshakes of this server. They run through its routes like any request, so that a refusal is an ordinary answer. */
  attach(http: FastifyInstance): void
  /**
   * Ends the handshake of this request and serves the connection; what `serve` returns gets its messages. Null when the request asked
   * for no upgrade. Throws ApiError for a handshake that is not valid, `too_many_requests` when the owner has too many connections,
   * `server_is_overloaded` when the process has.
   */
  accept(call: Handshake): FastifyReply | null
  /** Notifies every connection that the service shuts down and resolves when all are closed; what is left after the time is cut. */
  drain(limit: { seconds: number }): Promise<void>
  /** Connections open now. */
  count(): number
}

export type Handshake = {
  request: FastifyRequest
  reply: FastifyReply
  /** Whose connections are counted together. */
  owner: string
  serve(connection: WebSocketConnection): OnMessage
}

type Open = { owner: string; ws: WebSocket; closed: Promise<void> }

/** The WebSocket connections of one path, with or without a trailing slash. Source: RFC 6455. */
export function openSockets(options: {
  path: string
  log: Log
  budget: ByteBudget
  timing?: SocketTiming
  limits?: SocketLimits
}): Sockets {
  const { path, log, budget, timing = SOCKET_TIMING, limits = SOCKET_LIMITS } = options
  const wss = openServer(timing)
  const handshakes = new WeakMap<IncomingMessage, { socket: Duplex; head: Buffer }>()
  const open = new Set<Open>()
  const shutdown = new AbortController()

  return {
    isHandshake: (request) => isHandshakeAt(path, request),
    attach(http) {
      http.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
        handshakes.set(request, { socket, head })
        routeHandshake(http, request, socket as Socket)
      })
    },
    accept({ request, reply, owner, serve }) {
      const handshake = handshakes.get(request.raw)
      if (!handshake) return null
      // It may have been on its way in when the service began to shut down.
      if (shutdown.signal.aborted) throw overloaded('stopping', 'The service is shutting down.')
      requireRoom(open, owner, limits)
      const ws = upgrade(wss, request.raw, handshake, reply)
      reply.hijack()
      if (!ws) return reply
      const entry = { owner, ws, closed: new Promise<void>((resolve) => ws.once('close', () => resolve())) }
      open.add(entry)
      ws.once('close', () => {
        open.delete(entry)
        logConnection(log, request, reply)
      })
      const known = { request_id: request.id, draining: shutdown.signal }
      serveConnection(ws, { ...known, socket: handshake.socket, timing, openLease: () => budget.open(owner) }, serve)
      return reply
    },
    async drain({ seconds }) {
      shutdown.abort()
      const deadline = setTimeout(() => {
        for (const { ws } of open) ws.terminate()
      }, seconds * 1000)
      await Promise.all([...open].map(({ closed }) => closed))
      clearTimeout(deadline)
    },
    count: () => open.size,
  }
}

function isHandshakeAt(path: string, { headers, method, url = '' }: IncomingMessage): boolean {
  const asked = url.split('?', 1)[0]!.replace(/\/{2,}/g, '/')
  const bodiless = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
  const here = asked === path || asked === `${path}/`
  return method === 'GET' && here && bodiless && headers.upgrade?.toLowerCase() === 'websocket'
}

/** Passes a handshake to the routes as an ordinary request, whose answer ends the connection. */
function routeHandshake(http: FastifyInstance, request: IncomingMessage, socket: Socket): void {
  socket.on('error', () => socket.destroy())
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.once('finish', () => socket.destroySoon())
  try {
    response.assignSocket(socket)
  } catch {
    // Sent behind a request on the same connection whose answer is still to come: nothing sound can follow.
    socket.destroy()
    return
  }
  http.server.emit('request', request, response)
}

function openServer({ close_timeout_seconds }: SocketTiming): WebSocketServer {
  const wss = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: JSON_BYTES_MAX,
    // A message would be inflated before anything is known about it: 60 kB to 62 MB, whoever sends it.
    perMessageDeflate: false,
    // One message or ping in a turn of the event loop. Otherwise all 2,500 of a read come in one turn, and everybody else waits for them.
    allowSynchronousEvents: false,
    handleProtocols: () => false,
    // Missing in the types of the package.
    ...{ closeTimeout: close_timeout_seconds * 1000 },
  })
  wss.on('wsClientError', (error) => {
    throw new ApiError('invalid_request_error', asSentence(`This WebSocket handshake is not valid: ${error.message}`), {
      headers: { 'sec-websocket-version': '13' },
    })
  })
  return wss
}

/** Null when the client has disconnected. Throws ApiError before anything is answered. */
function upgrade(
  wss: WebSocketServer,
  raw: IncomingMessage,
  { socket, head }: { socket: Duplex; head: Buffer },
  reply: FastifyReply,
): WebSocket | null {
  let opened: WebSocket | null = null
  const addHeaders = (lines: string[]) => {
    for (const [name, value] of Object.entries(reply.getHeaders())) lines.push(`${name}: ${value}`)
  }
  wss.once('headers', addHeaders)
  try {
    wss.handleUpgrade(raw, socket, head, (ws) => {
      opened = ws
    })
  } finally {
    wss.off('headers', addHeaders)
  }
  if (opened) reply.raw.detachSocket(socket as Socket)
  return opened
}

function requireRoom(open: ReadonlySet<Open>, owner: string, { connections_max, per_owner_max }: SocketLimits): void {
  let own = 0
  for (const each of open) if (each.owner === owner) own += 1
  if (own >= per_owner_max) {
    const text = `Your organization has ${own} WebSocket connections. Close one, or use server-sent events.`
    throw new ApiError('too_many_requests', text)
  }
  if (open.size < connections_max) return
  const text = 'The service has too many WebSocket connections. Try again shortly, or use server-sent events.'
  throw overloaded('sockets', text)
}

type Served = Pick<WebSocketConnection, 'request_id' | 'draining'> & {
  socket: Duplex
  timing: SocketTiming
  openLease(): Lease
}

function serveConnection(
  ws: WebSocket,
  { request_id, socket, timing, draining, openLease }: Served,
  serve: (connection: WebSocketConnection) => OnMessage,
): void {
  const left = new AbortController()
  const cutOff = () => {
    left.abort()
    ws.terminate()
  }
  const onMessage = serve({
    request_id,
    signal: left.signal,
    draining,
    send(...texts) {
      if (ws.readyState !== ws.OPEN) return undefined
      socket.cork()
      for (const text of texts.slice(0, -1)) ws.send(text)
      const full = sendLast(ws, texts.at(-1)!, () => setTimeout(cutOff, timing.stalled_seconds * 1000))
      socket.uncork()
      return full
    },
    close: (code, reason) => ws.close(code, reason),
  })
  const stopPings = sendPings(ws, timing.ping_seconds, cutOff)
  let late = 0
  deliverMessages(ws, socket, openLease, (text, lease) => {
    if (ws.readyState === ws.OPEN) return onMessage(text, lease)
    lease.end()
    late += 1
    if (late > LATE_MESSAGES_MAX) cutOff()
  })
  // A protocol error closes the connection; `close` is emitted as well.
  ws.on('error', () => {})
  ws.once('close', () => {
    stopPings()
    left.abort()
  })
}

function sendPings(ws: WebSocket, ping_seconds: number, cutOff: () => void): () => void {
  let unanswered = 0
  const timer = setInterval(() => {
    if (unanswered >= PONGS_MISSED_MAX) return cutOff()
    unanswered += 1
    if (ws.readyState === ws.OPEN) ws.ping()
  }, ping_seconds * 1000)
  ws.on('pong', () => {
    unanswered = 0
  })
  return () => clearInterval(timer)
}

/** The package calls back when a message has left this process, or with an error when the connection is gone. */
function sendLast(ws: WebSocket, text: string, cutOffLater: () => NodeJS.Timeout): Promise<void> | undefined {
  let taken = () => {}
  ws.send(text, () => taken())
  if (ws.bufferedAmount <= WAITING_BYTES_MAX) return undefined
  return new Promise((resolve) => {
    const stalled = cutOffLater()
    taken = () => {
      clearTimeout(stalled)
      resolve()
    }
  })
}

function logConnection(log: Log, request: FastifyRequest, reply: FastifyReply): void {
  log.info('request', {
    request_id: request.id,
    method: request.method,
    route: request.routeOptions.url ?? 'unknown',
    status: 101,
    duration_ms: Math.round(reply.elapsedTime * 10) / 10,
    ...request.caller,
    key_id: request.caller?.key_id ?? undefined,
  })
}
