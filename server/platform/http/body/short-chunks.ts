import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ApiError } from '../../errors.ts'

/** Pieces that a body may come in whatever its size, and how many bytes each further one has at least, on average. */
const PIECES = 250
const BYTES_EACH = 64
const LINGER_MS = 1000

/** The places of what a parser of Node calls at the head of each request, and with each piece of a body. */
const CALLED = { head: 2, body: 3 }

/** What Node does not declare: its parser drops what comes for a request that is dumped, and a socket knows what it answers. */
type Inside = { _dumped?: boolean; socket: Parsed & { _httpMessage?: ServerResponse | null } }
type Parsed = Socket & { parser?: Record<number, unknown> | null }

/**
 * Ends a request whose body comes in pieces that are not worth their handling: each costs a few µs and 600 bytes, and one byte in a chunk of
 * its own is six on the wire. It is 400, where nothing was answered yet, and its connection ends. Call it before any of the body is read.
 */
export function limitPieces(request: IncomingMessage): void {
  const { 'transfer-encoding': coding, 'content-length': length = '0' } = request.headers
  if (coding === undefined && Number(length) <= PIECES) return
  let pieces = 0
  let bytes = 0
  let refused = false
  const push = request.push.bind(request)
  request.push = (piece: Buffer | null, encoding) => {
    // What was read of it is never taken for the whole.
    if (refused) return false
    if (piece === null) return push(piece)
    pieces += 1
    bytes += piece.length
    if (pieces <= PIECES + bytes / BYTES_EACH) return push(piece, encoding)
    refused = true
    refuse(request)
    return false
  }
}

/**
 * One read of 64 KiB brings 10,000 pieces or 2,000 requests, and cannot be stopped in their midst: without anything to call, the parser passes over
 * them. For connections that are about to end.
 */
export function skipParts(socket: Parsed, part: keyof typeof CALLED): void {
  const { parser } = socket
  const place = CALLED[part]
  if (!parser || typeof parser[place] !== 'function') return
  const call = parser[place]
  parser[place] = null
  // The next connection may be given this parser.
  socket.once('close', () => {
    parser[place] = call
  })
}

function refuse(request: IncomingMessage): void {
  const inside = request as Inside
  const { socket } = inside
  inside._dumped = true
  skipParts(socket, 'body')
  const text = 'The body comes in very short pieces. Send it in chunks of some KB.'
  const isAnswered = socket._httpMessage?.headersSent ?? true
  if (!isAnswered && 'server' in socket)
    (socket.server as NodeJS.EventEmitter).emit('clientError', new ApiError('invalid_request_error', text), socket)
  // Whoever reads the request would start the connection again.
  request._read = () => {}
  socket.on('resume', () => socket.pause())
  socket.pause()
  // Closed at once, with bytes unread, it would take the answer with it.
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}
