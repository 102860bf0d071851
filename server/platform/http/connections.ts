import type { IncomingMessage, RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import { limitPieces, skipParts } from './body/short-chunks.ts'
import { networkOf } from './client-address.ts'

/**
 * How many requests may wait behind unanswered ones: of a connection, of a network, of the process. One read of 64 KiB brings up to 2,000, and
 * Node has made a request and a response of each, some 2 KB, before the connection can be paused: a client that sends more than may wait is cut
 * off. Proxies and SDKs send none ahead, programs that do have about ten on their way (apt 10, browsers once 4 to 32). `unread_seconds`: how long
 * a client with waiting requests may take nothing of a response.
 */
export const WAITING = { connection: 64, network: 512, process: 4096, unread_seconds: 30 }
/** Fewer may wait while the connection is still read from. */
const FEW = 32
/** A body that is refused unread is read away when it is this small, and the connection goes on. */
const SMALL_BODY_BYTES = 4 * 1024 * 1024
/**
 * How long the rest of a larger body is read and discarded, so that its sender receives the answer instead of a connection error: many clients
 * read no answer before they have sent the whole body. `silence`: without any bytes; `total`: at most.
 */
const LINGER_SECONDS = { silence: 10, total: 60 }
const LINGER_BYTES_MAX = 128 * 1024 * 1024

const CONNECTIONS_MAX = 10_000
/** A program may have 4,000 requests unanswered, each on a connection. */
const NETWORK_CONNECTIONS_MAX = 5000

const ENDING = Symbol('ending')
/** How many requests of the connection wait for room for their bodies. */
const PAUSES = Symbol('pauses')
type Marked = Socket & { [ENDING]?: true; [PAUSES]?: number }
/** Requests of a connection that wait for their turn. `bytes_read`: by the connection when the first of them began to wait. */
type Line = {
  socket: Socket
  network: string
  waiting: number
  bytes_read: number
  paused: boolean
  unread: NodeJS.Timeout | undefined
}
type Lines = { enter(line: Line): void; leave(line: Line, count: number): void }

/**
 * Handles the requests of a connection one after another, as other servers do: whoever sends many without waiting for answers has no more of
 * them worked on than with one on each connection, and no more of them kept than `limits`. Nothing behind `endAfterAnswer` reaches `handler`.
 */
export function boundConnections(handler: RequestListener, changes: Partial<typeof WAITING> = {}): RequestListener {
  const lines = countWaiting({ ...WAITING, ...changes })
  const known = new WeakMap<Socket, Line>()
  return (request, response) => {
    const socket: Marked = request.socket
    if (!socket[ENDING]) {
      limitPieces(request)
      // Node gives a response its socket when those before it have been sent.
      if (response.socket !== null) return handler(request, response)
    }
    // What the read that ended it has brought as well.
    if (socket.destroyed) return
    let line = known.get(socket)
    if (!line) {
      line = openLine(socket, lines)
      known.set(socket, line)
    }
    if (line.waiting === 0) line.bytes_read = socket.bytesRead
    lines.enter(line)
    if (socket[ENDING]) return void socket.pause()
    pauseLong(line)
    response.once('socket', () => {
      if (socket.destroyed) return
      lines.leave(line, 1)
      if (line.waiting === 0 && line.paused) {
        line.paused = false
        socket.resume()
      }
      if (!isEnding(socket)) handler(request, response)
    })
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

/** Takes up to 10,000 connections, and closes idle ones once there are as many: at most every second, since it looks at all of them. */
export function makeRoom(server: Server): void {
  server.maxConnections = CONNECTIONS_MAX
  let closed_ms = Number.NEGATIVE_INFINITY
  server.on('drop', () => {
    if (performance.now() - closed_ms < 1000) return
    closed_ms = performance.now()
    server.closeIdleConnections()
  })
}

/**
 * Takes at most `max` connections of one network, so that no client without a key keeps everybody else out. Those of proxies are of many
 * clients and are not counted.
 */
export function limitNetworks(
  server: Server,
  isProxy: ((address: string) => boolean) | null,
  max = NETWORK_CONNECTIONS_MAX,
): void {
  const counts = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    if (isProxy?.(address)) return
    const network = networkOf(address)
    const count = (counts.get(network) ?? 0) + 1
    if (count > max) return void socket.destroy()
    counts.set(network, count)
    socket.once('close', () => {
      const rest = counts.get(network)! - 1
      if (rest > 0) counts.set(network, rest)
      else counts.delete(network)
    })
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

function openLine(socket: Socket, lines: Lines): Line {
  const network = networkOf(socket.remoteAddress ?? '')
  const line: Line = { socket, network, waiting: 0, bytes_read: 0, paused: false, unread: undefined }
  // Node resumes reading when its own buffers have drained.
  socket.on('resume', () => {
    if (line.paused) socket.pause()
  })
  socket.once('close', () => lines.leave(line, line.waiting))
  return line
}

/** While it is read from, the end of a connection is noticed at once: few may wait meanwhile, and what one more read brings. */
function pauseLong(line: Line): void {
  if (line.waiting <= FEW && line.socket.bytesRead === line.bytes_read) return
  line.paused = true
  line.socket.pause()
}

/** Counts the waiting requests of a process, and cuts connections off where they are too many. */
function countWaiting(limits: typeof WAITING): Lines {
  const networks = new Map<string, number>()
  /** Those with waiting requests, by when they began to wait. */
  const lines = new Set<Line>()
  let total = 0
  const add = (line: Line, count: number) => {
    total += count
    line.waiting += count
    const ofNetwork = (networks.get(line.network) ?? 0) + count
    if (ofNetwork > 0) networks.set(line.network, ofNetwork)
    else networks.delete(line.network)
    return ofNetwork
  }
  const leave = (line: Line, count: number) => {
    add(line, -count)
    if (line.waiting > 0) return
    lines.delete(line)
    clearInterval(line.unread)
  }
  const cutOff = (line: Line) => {
    skipParts(line.socket, 'head')
    line.socket.destroy()
    leave(line, line.waiting)
  }
  return {
    leave,
    enter(line) {
      const ofNetwork = add(line, 1)
      if (line.waiting === 1) {
        lines.add(line)
        line.unread = onceUnread(line.socket, limits.unread_seconds, () => cutOff(line))
      }
      if (line.waiting > limits.connection || ofNetwork > limits.network) cutOff(line)
      if (total > limits.process) for (const longest of lines) return cutOff(longest)
    },
  }
}

/** Calls back when a client has taken nothing of what waits for it from one look to the next. */
function onceUnread(socket: Socket, seconds: number, callBack: () => void): NodeJS.Timeout {
  const position = () => {
    // What of one long write the system has not taken yet; Node does not declare it.
    const unsent = (socket as { _handle?: { writeQueueSize?: number } })._handle?.writeQueueSize ?? 0
    return socket.writableLength === 0 ? null : `${socket.bytesWritten - socket.writableLength} ${unsent}`
  }
  let last = position()
  const timer = setInterval(() => {
    const now = position()
    if (now !== null && now === last) callBack()
    last = now
  }, seconds * 1000)
  return timer.unref()
}
