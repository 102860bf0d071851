import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { limitPieces } from './body/short-chunks.ts'

/**
 * Requests of one connection that may wait behind an unanswered one: one read of 64 KiB brings them all, and they cannot be put back. As many
 * as have a credential fit in one read; the connection of a client that sends more ends behind the answers to these.
 */
export const WAITING_MAX = 512
const FEW = 32
/** A body that is refused unread is read away when it is this small, and the connection goes on. */
const SMALL_BODY_BYTES = 4 * 1024 * 1024
/**
 * How long the rest of a larger body is read and discarded, so that its sender receives the answer instead of a connection error: many clients
 * read no answer before they have sent the whole body. `silence`: without any bytes; `total`: at most.
 */
const LINGER_SECONDS = { silence: 10, total: 60 }
const LINGER_BYTES_MAX = 128 * 1024 * 1024

const ENDING = Symbol('ending')
/** How many requests of the connection wait for room for their bodies. */
const PAUSES = Symbol('pauses')
type Exchange = { request: IncomingMessage; response: ServerResponse }
type Marked = Socket & { [ENDING]?: true; [PAUSES]?: number }
/** Requests of a connection that wait for their turn. `bytes_read`: by the connection when the first of them began to wait. */
type Line = { waiting: number; bytes_read: number; overrun: boolean; paused: boolean }

/**
 * Handles the requests of a connection one after another, as other servers do: whoever sends many without waiting for answers has no more of
 * them worked on than with one on each connection. Nothing behind `endAfterAnswer` reaches `handler`.
 */
export function boundConnections(handler: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, Line>()
  return (request, response) => {
    const socket: Marked = request.socket
    if (socket[ENDING]) return void socket.pause()
    limitPieces(request)
    // Node gives a response its socket when those before it have been sent.
    if (response.socket !== null) return handler(request, response)
    let line = lines.get(socket)
    if (!line) {
      line = openLine(socket)
      lines.set(socket, line)
    }
    waitInLine(line, { request, response }, handler)
  }
}

/**
 * Ends the connection behind the answer to this request; nothing after it is taken for a request. `discard`: what is left of its body is
 * read and thrown away for a while first. The answer must carry `connection: close`.
 */
export function endAfterAnswer(request: IncomingMessage, { discard }: { discard: boolean }): void {
  const socket: Marked = request.socket
  if (socket[ENDING]) return
  socket[ENDING] = true
  if (!discard) return
  let remaining = LINGER_BYTES_MAX
  let silence: NodeJS.Timeout | undefined
  const since = performance.now()
  discardBody(request, ({ length }) => {
    remaining -= length
    if (remaining < 0 || performance.now() - since > LINGER_SECONDS.total * 1000) socket.destroy()
    silence?.refresh()
  })
  const destroySoon = socket.destroySoon.bind(socket)
  // What Node calls when the last answer has been sent.
  socket.destroySoon = () => {
    // No end of ours yet: programs on Node take it for a broken connection while they are still sending.
    if (request.complete || socket.isPaused()) return destroySoon()
    silence = setTimeout(() => socket.destroy(), LINGER_SECONDS.silence * 1000)
    socket.once('close', () => clearTimeout(silence))
    request.once('end', destroySoon)
  }
}

/** Reads nothing more from the connection of a request until there is `room` for its body, neither of the body nor of requests behind it. */
export function pauseConnection(request: IncomingMessage, room: Promise<void>): Promise<void> {
  const socket: Marked = request.socket
  if (socket[PAUSES] === undefined) {
    socket.on('resume', () => {
      if (socket[PAUSES]! > 0) socket.pause()
    })
  }
  socket[PAUSES] = (socket[PAUSES] ?? 0) + 1
  socket.pause()
  return room.finally(() => {
    socket[PAUSES]! -= 1
    if (socket[PAUSES] === 0) socket.resume()
  })
}

/** Closes idle connections once there are as many connections as a server takes: at most every second, since it looks at all of them. */
export function makeRoom(server: Server): void {
  let closed_ms = Number.NEGATIVE_INFINITY
  server.on('drop', () => {
    if (performance.now() - closed_ms < 1000) return
    closed_ms = performance.now()
    server.closeIdleConnections()
  })
}

/** Reads the rest of a body and throws it away, also when a parser has stopped in the middle of it. */
export function discardBody(request: IncomingMessage, onChunk: (chunk: Buffer) => void = () => {}): void {
  // A pipe whose target is full would pause it again.
  request.unpipe()
  request.on('data', onChunk)
  request.resume()
}

/** Whether the connection ends and answers no further requests. */
export function isEnding(socket: Socket): boolean {
  return (socket as Marked)[ENDING] === true
}

/** Whether a request has a body too large, or of unknown size, to be read away between two requests. */
export function hasLargeBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > SMALL_BODY_BYTES
}

function openLine(socket: Socket): Line {
  const line: Line = { waiting: 0, bytes_read: 0, overrun: false, paused: false }
  // Node resumes reading when its own buffers have drained.
  socket.on('resume', () => {
    if (line.paused) socket.pause()
  })
  return line
}

function waitInLine(line: Line, { request, response }: Exchange, handler: RequestListener): void {
  const { socket } = request
  if (line.overrun) return
  if (line.waiting === 0) line.bytes_read = socket.bytesRead
  line.waiting += 1
  line.overrun = line.waiting > WAITING_MAX
  // While it is read from, the end of a connection is noticed at once: few may wait meanwhile, and what one more read brings.
  if (line.waiting > FEW || socket.bytesRead > line.bytes_read) {
    line.paused = true
    socket.pause()
  }
  const isOver = line.overrun
  response.once('socket', () => {
    if (isOver) return socket.destroySoon()
    line.waiting -= 1
    if (line.waiting === 0 && line.paused) {
      line.paused = false
      socket.resume()
    }
    if (!socket.destroyed && !isEnding(socket)) handler(request, response)
  })
}
