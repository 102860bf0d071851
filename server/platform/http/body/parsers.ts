import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { AT_ONCE_BYTES_MAX, parseJsonPieces } from '../../json/parse.ts'
import type { TextRepair } from '../../schema/validate.ts'
import { takingTurnsAs } from '../../turns.ts'
import { whileConnected } from '../abort-on-disconnect.ts'
import { discardBody, endAfterAnswer, hasLargeBody, pauseConnection } from '../connections.ts'
import type { Lease } from './byte-budget.ts'
import { bodyMayNotBeCoded, bodyTooLarge, codingOf, readCoded } from './coded.ts'

/** JSON bodies over this are `413 request_too_large`. Source: contract 1.1. */
export const JSON_BYTES_MAX = 64 * 1024 * 1024
/** The same where no credential is asked for. Source: contract 1.1. */
export const OPEN_BODY_BYTES_MAX = 16 * 1024

type Done = (error: Error | null, body?: unknown) => void

/** JSON is parsed strictly; other types are refused unless the route takes them; the body of a route that takes none is not read. */
export function addBodyParsers(http: FastifyInstance): void {
  http.removeAllContentTypeParsers()
  http.addContentTypeParser('application/json', (request, _payload, done) => {
    const { accepts, body_bytes_max = JSON_BYTES_MAX, text_repair } = request.routeOptions.config.kinora ?? {}
    const owner = request.caller?.org_id ?? ''
    const options = { raw: request.raw, owner, body_bytes_max, text_repair, lease: request.lease }
    if (accepts?.size === 0) done(null, undefined)
    else if (accepts && !accepts.has('json')) done(wrongContentType(accepts))
    else if (Number(request.headers['content-length']) > body_bytes_max) done(bodyTooLarge(body_bytes_max))
    else if (request.headers['content-encoding'] === undefined) readJson(options, done)
    else readCodedJson(request, options).then((body) => done(null, body), done)
  })
  http.addContentTypeParser('*', (request, _payload, done) => {
    const { accepts, body_bytes_max = JSON_BYTES_MAX } = request.routeOptions.config.kinora ?? {}
    if (accepts?.size === 0) done(null, undefined)
    else if (Number(request.headers['content-length']) > body_bytes_max) done(bodyTooLarge(body_bytes_max))
    else done(wrongContentType(accepts ?? new Set(['json'])))
  })
}

/**
 * Ends a request whose body is not there after `bodySeconds`, or an upload of which nothing came for as long while it was read. Node's own
 * limit is that of a whole upload.
 */
export function limitBodyTime(request: FastifyRequest, { upload }: { upload: boolean }): void {
  const { raw } = request
  let bytes = raw.socket.bytesRead
  const timer = setInterval(() => {
    if (raw.complete) return
    const goesOn = upload && (raw.readableLength > 0 || raw.socket.bytesRead > bytes)
    bytes = raw.socket.bytesRead
    if (!goesOn) raw.destroy(new ApiError('request_timeout', 'The request body did not arrive in time.'))
  }, request.server.bodySeconds * 1000)
  timer.unref()
  raw.once('close', () => clearInterval(timer))
}

export function hasBody({ headers }: FastifyRequest): boolean {
  const length = headers['content-length']
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined
}

/** Reads away what is left of a body that the answer does not wait for. The connection ends behind the answer if that is much. */
export function leaveBody(request: FastifyRequest, reply: FastifyReply): void {
  const { raw } = request
  if (raw.complete || !hasBody(request)) return
  if (hasLargeBody(raw)) reply.header('connection', 'close')
  // Fastify closes it behind a body that a parser rejects.
  if (reply.getHeader('connection') === 'close') endAfterAnswer(raw, { discard: isPlainTransfer(request) })
  else discardBody(raw)
}

export function requirePlainTransfer(request: FastifyRequest): void {
  if (isPlainTransfer(request)) return
  throw new ApiError('invalid_request_error', 'Transfer-Encoding must be chunked or absent.')
}

export function wrongContentType(accepts: ReadonlySet<string>): ApiError {
  const types = [...accepts].map((kind) => (kind === 'json' ? 'application/json' : 'multipart/form-data'))
  return new ApiError('unsupported_media_type', `Unsupported Content-Type. Send ${types.join(' or ')}.`)
}

/** The end of the body is unknown for any other encoding. */
function isPlainTransfer({ headers }: FastifyRequest): boolean {
  const encoding = headers['transfer-encoding']
  return encoding === undefined || encoding.trim().toLowerCase() === 'chunked'
}

type Reading = {
  raw: IncomingMessage
  /** Whose turns a large body takes. */
  owner: string
  body_bytes_max: number
  text_repair: TextRepair | undefined
  lease: Lease | null
}

/**
 * Waits for room for a whole body whose size is known: a part of one that waits would keep others waiting. Any other is read as fast as
 * there is room.
 */
function readJson(reading: Reading, done: Done): void {
  const size = reading.raw.headers['content-length']
  const bytes_lease = size === undefined ? reading.lease : null
  const room = size === undefined ? undefined : reading.lease?.add(Number(size))
  if (room) pauseConnection(reading.raw, room).then(() => collectJson(reading, bytes_lease, done), done)
  else collectJson(reading, bytes_lease, done)
}

/** A body of no bytes is none. `lease` counts its bytes, unless that is done. */
function collectJson(reading: Reading, lease: Lease | null, done: Done): void {
  const { raw: payload, body_bytes_max } = reading
  let size = 0
  let ended = false
  const chunks: Buffer[] = []
  const onData = (chunk: Buffer): void => {
    size += chunk.length
    if (size > body_bytes_max) {
      end(bodyTooLarge(body_bytes_max))
      return
    }
    chunks.push(chunk)
    const room = lease?.add(chunk.length)
    if (!room) return
    payload.pause()
    pauseConnection(payload, room).then(() => payload.resume(), end)
  }
  const end = (error?: Error): void => {
    if (ended) return
    ended = true
    payload.off('data', onData).off('end', end).off('error', end)
    if (error) done(error)
    else if (size === 0) done(null, undefined)
    // Nothing here keeps what came while it is parsed.
    else parse(chunks.splice(0), size, reading, done)
  }
  payload.on('data', onData).on('end', end).on('error', end)
}

/** A compressed body. The limit is for the bytes that come out. Without a lease nothing would count what a decoder takes. */
async function readCodedJson(request: FastifyRequest, reading: Reading): Promise<unknown> {
  const { body_bytes_max, lease } = reading
  const coding = codingOf(request)
  if (coding !== null && lease === null) throw bodyMayNotBeCoded(coding)
  const pieces = await readCoded(request.raw, { coding, bytes_max: body_bytes_max, lease })
  const size_bytes = pieces.reduce((sum, { length }) => sum + length, 0)
  return size_bytes === 0 ? undefined : parsed(pieces, size_bytes, reading)
}

/** A large body is parsed as long as its client is connected. */
function parsed(pieces: readonly Buffer[], size_bytes: number, reading: Reading): unknown {
  const { raw, owner, text_repair: repair, lease } = reading
  const options = { repair, ...(lease && { room: lease.addValues }) }
  if (size_bytes <= AT_ONCE_BYTES_MAX) return parseJsonPieces(pieces, size_bytes, options)
  const parse = (signal: AbortSignal) => parseJsonPieces(pieces, size_bytes, { ...options, signal })
  return takingTurnsAs(owner, () => whileConnected(raw, parse))
}

function parse(pieces: readonly Buffer[], size_bytes: number, options: Reading, done: Done): void {
  let value: unknown
  try {
    value = parsed(pieces, size_bytes, options)
  } catch (error) {
    done(error as Error)
    return
  }
  if (value instanceof Promise) value.then((body) => done(null, body), done)
  else done(null, value)
}
