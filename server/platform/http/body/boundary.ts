import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { endedEarly } from '../abort-on-disconnect.ts'
import { requireUncoded } from './coded.ts'

/**
 * Throws ApiError 415 for a form that is compressed, and 400 for one whose header names no boundary: programs that set the header by hand
 * lose the one that their HTTP client would have written.
 */
export function requireReadableForm(request: FastifyRequest): void {
  requireUncoded(request)
  const { headers } = request
  if (/;\s*boundary\s*=\s*("[^"]+"|[^\s;"]+)/i.test(headers['content-type'] ?? '')) return
  const message =
    "The Content-Type header has no boundary, so the parts of the form cannot be separated. Leave that header to your HTTP client: it writes 'multipart/form-data; boundary=…'."
  throw new ApiError('invalid_request_error', message)
}

/** Throws when the client has left already: the form parser would wait for ever for an end that it has missed. */
export function requireConnected({ raw }: FastifyRequest): void {
  if (raw.destroyed) throw endedEarly()
}
