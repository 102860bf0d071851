import { IncomingMessage, type ServerResponse } from 'node:http'
import { ApiError } from '../../errors.ts'

/** Pieces that a body may come in whatever its size, and how many bytes each further one has at least, on average. */
const PIECES = 4000
const BYTES_EACH = 32
const LINGER_MS = 1000

/** What Node does not declare: its parser drops what comes for a request that is dumped, and a socket knows what it answers. */
type Inside = { _dumped?: boolean; socket: IncomingMessage['socket'] & { _httpMessage?: ServerResponse | null } }

/**
 * A request whose body comes in pieces worth their handling: each costs a few µs and 600 bytes, and one byte in a chunk of its own is six on
 * the wire. Beyond that it is 400, where nothing was answered yet, and its connection ends.
 */
export class BoundedRequest extends IncomingMessage {
  #pieces = 0
  #bytes = 0

  override push(piece: Buffer | null, encoding?: BufferEncoding): boolean {
    if (piece === null) return super.push(piece)
    this.#pieces += 1
    this.#bytes += piece.length
    if (this.#pieces <= PIECES + this.#bytes / BYTES_EACH) return super.push(piece, encoding)
    this.#refuse()
    return false
  }

  #refuse(): void {
    const inside = this as unknown as Inside
    const { socket } = inside
    inside._dumped = true
    const text = 'The body comes in very short pieces. Send it in chunks of some KB.'
    const isAnswered = socket._httpMessage?.headersSent ?? true
    if (!isAnswered && 'server' in socket)
      (socket.server as NodeJS.EventEmitter).emit('clientError', new ApiError('invalid_request_error', text), socket)
    socket.pause()
    // Closed at once, with bytes unread, it would take the answer with it.
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }
}
