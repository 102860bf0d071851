import { Transform } from 'node:stream'
import type { FastifyMultipartOptions, Multipart } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { endedEarly } from '../abort-on-disconnect.ts'
import { requireUncoded } from './coded.ts'

/** A boundary of any characters but those that a parser may read in two ways: clients do not keep to those of RFC 2046, section 5.1.1. */
const BOUNDARY = /;\s*boundary\s*=\s*(?:"([^"\\]{1,200})"|([^\s;"\\]{1,200}))\s*(?:;|$)/i

/**
 * Throws ApiError 415 for a form that is compressed, and 400 for one whose header names no boundary, or several: programs that set the header
 * by hand lose the one that their HTTP client would have written.
 */
export function requireReadableForm(request: FastifyRequest): void {
  requireUncoded(request)
  boundaryOf(request)
}

function boundaryOf({ headers }: FastifyRequest): string {
  const type = headers['content-type'] ?? ''
  const [, quoted, plain] = BOUNDARY.exec(type) ?? []
  const boundary = quoted ?? plain
  // Of two the form parser might take the other one.
  if (boundary !== undefined && type.match(/;\s*boundary[\d*]*\s*=/gi)!.length === 1) return boundary
  const message =
    "The Content-Type header has no boundary, so the parts of the form cannot be separated. Leave that header to your HTTP client: it writes 'multipart/form-data; boundary=…'."
  throw new ApiError('invalid_request_error', message)
}

/** Throws when the client has left already: the form parser would wait for ever for an end that it has missed. */
export function requireConnected({ raw }: FastifyRequest): void {
  if (raw.destroyed) throw endedEarly()
}

/**
 * The parts of a form as they arrive. Throws ApiError 400 for more than `parts`, before they are parsed, and what `unreadable` makes of what
 * the form parser throws.
 */
export async function* partsOfForm(
  request: FastifyRequest,
  { limits, ...options }: FastifyMultipartOptions & { limits: { parts: number } },
  unreadable: (error: Error & { code?: string }) => ApiError,
): AsyncGenerator<Multipart> {
  const source = limitParts(request, limits.parts)
  const limited: FastifyRequest = Object.create(request, { raw: { value: source } })
  const parts = limited.parts({ ...options, limits })
  while (true) {
    const next = await parts.next().catch((error: Error & { code?: string }) => {
      if (error.code === 'FST_PARTS_LIMIT') throw tooManyParts(limits.parts)
      throw error instanceof ApiError ? error : unreadable(error)
    })
    if (next.done) return
    yield next.value
  }
}

/**
 * The bytes of a form. It fails when there are more parts: the parser would go on to read them, which takes a quarter of a second for each
 * 64 KiB of empty ones, in one turn.
 */
function limitParts(request: FastifyRequest, parts_max: number): Transform {
  const { raw } = request
  const delimiter = Buffer.from(`\r\n--${boundaryOf(request)}`)
  let before = Buffer.alloc(0)
  // The first has no line break in front; one more ends the form.
  let rest = parts_max + 1
  const limited = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const bytes = Buffer.concat([before, chunk])
      let at = bytes.indexOf(delimiter)
      for (; at !== -1 && rest >= 0; at = bytes.indexOf(delimiter, at + delimiter.length)) rest -= 1
      before = bytes.subarray(Math.max(0, bytes.length - delimiter.length + 1))
      if (rest < 0) done(tooManyParts(parts_max))
      else done(null, chunk)
    },
  })
  raw.once('close', () => {
    if (!raw.readableEnded) limited.destroy()
  })
  return Object.assign(raw.pipe(limited), { headers: raw.headers })
}

function tooManyParts(parts_max: number): ApiError {
  return new ApiError('invalid_request_error', `The form has more than ${parts_max} parts.`)
}
