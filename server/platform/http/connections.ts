import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection that are worked on at the same time; more are not read from it until answers have been sent. */
export const UNANSWERED_MAX = 32
/**
 * Requests that may wait behind them: one read of 64 KiB brings them all, and they cannot be put back. As many as have a credential
 * fit in one read; of a connection that sends more, those that run are answered, then it ends.
 */
const WAITING_MAX = 512
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
type Marked = Socket & { [ENDING]?: true; [PAUSES]?: number }
type Exchange = { request: IncomingMessage; response: ServerResponse }
type Pipeline = { running: number; waiting: Exchange[]; overrun: boolean }

/** Handles the requests of each connection with bounds on their number. Nothing behind `endAfterAnswer` reaches `handler`. */
export function boundConnections(handler: RequestListener): RequestListener {
  const pipelines = new WeakMap<Socket, Pipeline>()
  return (request, response) => {
    const socket: Marked = request.socket
    if (socket[ENDING]) return void socket.pause()
    // Node gives a response its socket when those before it have been sent.
    if (response.socket !== null) return handler(request, response)
    let pipeline = pipelines.get(socket)
    if (!pipeline) {
      pipeline = openPipeline(socket)
      pipelines.set(socket, pipeline)
    }
    enqueue(pipeline, { request, response }, handler)
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

function openPipeline(socket: Socket): Pipeline {
  const pipeline: Pipeline = { running: 0, waiting: [], overrun: false }
  // Node resumes reading when its own buffers have drained.
  socket.on('resume', () => {
    if (pipeline.waiting.length > 0 || pipeline.overrun) socket.pause()
  })
  return pipeline
}

function enqueue(pipeline: Pipeline, exchange: Exchange, handler: RequestListener): void {
  const { socket } = exchange.request
  const { running, waiting, overrun } = pipeline
  if (overrun) return
  // The first on its way is not one of those that run here.
  if (running < UNANSWERED_MAX - 1 && waiting.length === 0) run(pipeline, exchange, handler)
  else if (waiting.length === WAITING_MAX) {
    waiting.length = 0
    pipeline.overrun = true
    socket.pause()
  } else if (!socket.destroyed) {
    waiting.push(exchange)
    socket.pause()
  }
}

function run(pipeline: Pipeline, { request, response }: Exchange, handler: RequestListener): void {
  pipeline.running += 1
  response.once('close', () => {
    pipeline.running -= 1
    const { socket } = request
    if (socket.destroyed || isEnding(socket)) {
      pipeline.waiting.length = 0
      return
    }
    if (pipeline.overrun) {
      if (pipeline.running === 0) socket.destroySoon()
      return
    }
    const next = pipeline.waiting.shift()
    if (next) run(pipeline, next, handler)
    if (pipeline.waiting.length === 0) socket.resume()
  })
  handler(request, response)
}
