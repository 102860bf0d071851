import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { codingsOf, decodeChunks } from '../../outbound/decode.ts'
import { TOO_MANY_FRAMES } from '../../outbound/zstd-frames.ts'
import { pauseConnection } from '../connections.ts'
import type { Lease } from './byte-budget.ts'

type Coding = ReturnType<typeof codingsOf>[number]

/**
 * How many times larger a body may come out than it came in, once it is larger than `FREE_BYTES`. Conversations shrink to a tenth; what shrinks
 * to a thousandth was made to fill memory.
 */
const RATIO_MAX = 100
const FREE_BYTES = 1024 * 1024
/** What may be on its way through a decoder. */
const IN_FLIGHT_BYTES = 512 * 1024
/**
 * What a decoder and the streams around it take beside the bytes that went in or came out. Measured at rest: 90 KB, and 460 KB within a block of
 * zstd. Brotli lets a sender declare tables of up to 3 MB; like those of a body, its bytes may become three in memory.
 */
export const DECODER_BYTES: Record<Coding, number> = {
  gzip: 128 * 1024,
  deflate: 128 * 1024,
  br: 1024 * 1024,
  zstd: 512 * 1024,
}

export function bodyTooLarge(bytes_max: number): ApiError {
  return new ApiError('request_too_large', `The request body is larger than ${bytes_max} bytes.`)
}

/** The coding of a body; null when it has none. Throws ApiError `unsupported_media_type` for an unknown one, and for more than one. */
export function codingOf({ headers }: FastifyRequest): Coding | null {
  const named = (headers['content-encoding'] ?? '').split(',').map((name) => name.trim().toLowerCase())
  const names = named.filter((name) => name !== '' && name !== 'identity')
  const codings = codingsOf(names.join(','))
  if (names.length === 0) return null
  if (names.length === 1 && codings.length === 1) return codings[0]!
  const text = `Unsupported Content-Encoding '${names.join(', ').slice(0, 64)}'. Send gzip, deflate, br or zstd, or the body as it is.`
  throw new ApiError('unsupported_media_type', text)
}

/** For routes that need no credential. */
export function bodyMayNotBeCoded(coding: Coding): ApiError {
  const text = `A request without a credential may not be compressed, but its Content-Encoding is '${coding}'. Send the body as it is.`
  return new ApiError('unsupported_media_type', text)
}

/** Throws ApiError `unsupported_media_type` for a compressed body: forms are read as they are. */
export function requireUncoded(request: FastifyRequest): void {
  const coding = codingOf(request)
  if (coding === null) return
  throw new ApiError('unsupported_media_type', `A form may not be compressed, but this one is sent as '${coding}'.`)
}

/**
 * The bytes of a body without its coding, in pieces, as fast as `lease` has room for them and for the decoder. A body that is not compressed,
 * whatever it claims, comes as it is. Throws ApiError `request_too_large` beyond `bytes_max` and RATIO_MAX, `invalid_request_error` for bytes
 * that are not of their coding or unpack to less than half of their size, or for many short frames or blocks of zstd,
 * `unsupported_media_type` for zstd with a window that HTTP does not have.
 */
export async function readCoded(
  body: IncomingMessage,
  { coding, bytes_max, lease }: { coding: Coding | null; bytes_max: number; lease: Lease | null },
): Promise<Buffer[]> {
  const pieces: Buffer[] = []
  let received = 0
  let size = 0
  let counted = 0
  /** Counts what is in memory: what has come in, or what came out where that is more. */
  const count = (bytes: number): Promise<void> | undefined => {
    if (bytes <= counted) return undefined
    const room = lease?.add(bytes - counted)
    counted = bytes
    return room && pauseConnection(body, room)
  }
  const decoder_bytes = coding === null ? 0 : DECODER_BYTES[coding]
  const start = count(decoder_bytes)
  if (start) await start
  let room: Promise<void> | undefined
  // Behind a pipe, so that a decoder that fails destroys neither the body nor its connection, and with it our answer.
  const source = new PassThrough()
  body.on('data', ({ length }: Buffer) => {
    received += length
    if (coding !== null && received > 2 * size + IN_FLIGHT_BYTES) source.destroy(unpacksTooLittle())
    const more = count(decoder_bytes + received)
    if (!more) return
    room = more
    more.catch((error) => source.destroy(error))
  })
  body.once('error', (error) => source.destroy(error))
  body.pipe(source)
  try {
    for await (const piece of coding === null ? source : decodeChunks(source, [coding], { few_frames: true })) {
      size += piece.length
      if (size > bytes_max) throw bodyTooLarge(bytes_max)
      if (size > FREE_BYTES && size > received * RATIO_MAX) throw unpacksTooFar()
      pieces.push(piece)
      const more = count(decoder_bytes + size)
      if (more) await more
    }
    if (room) await room
    lease?.giveBack(counted - size)
    return pieces
  } catch (error) {
    throw isOfCoding(error) ? notCoded(coding!, error) : error
  }
}

function unpacksTooFar(): ApiError {
  const text = `The compressed request body becomes more than ${RATIO_MAX} times as large. Send it as it is.`
  return new ApiError('request_too_large', text)
}

function unpacksTooLittle(): ApiError {
  const text = 'The compressed request body unpacks to less than half of its size. Send it as it is.'
  return new ApiError('invalid_request_error', text)
}

/** Errors of `node:zlib`: Z_DATA_ERROR, ERR_BROTLI_DECODER_…, ZSTD_error_…, and the end of a body that is cut. */
function isOfCoding(error: unknown): boolean {
  return /^(Z_|ERR_BROTLI|ERR__ERROR|ZSTD|ERR_ZSTD)/.test(String((error as { code?: unknown }).code))
}

function notCoded(coding: Coding, cause: unknown): ApiError {
  if ((cause as { code?: unknown }).code === 'ZSTD_error_frameParameter_windowTooLarge') {
    const text =
      'The request body is compressed by zstd with a window of more than 8 MB. Use a smaller window, or send it as it is.'
    return new ApiError('unsupported_media_type', text, { cause })
  }
  if ((cause as { code?: unknown }).code === TOO_MANY_FRAMES) {
    const text = 'The request body is compressed by zstd in many short frames or blocks. Send it in one, or as it is.'
    return new ApiError('invalid_request_error', text, { cause })
  }
  const text = `The request body could not be decoded as ${coding}, which its Content-Encoding names. Send it again, or as it is.`
  return new ApiError('invalid_request_error', text, { cause })
}
