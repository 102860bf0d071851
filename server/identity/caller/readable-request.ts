import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../platform/errors.ts'
import { hasUnstorableText } from '../../platform/text.ts'

/** A body without a Content-Type would be skipped by the parsers and look absent: report it instead. */
export function requireSomeBody(request: FastifyRequest): void {
  const hasBody =
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0
  if (hasBody)
    throw new ApiError('unsupported_media_type', 'The request has a body but no Content-Type. Send application/json.')
}

/** Text that PostgreSQL refuses names nothing that could exist. */
export function requireStorablePath(request: FastifyRequest): void {
  const params = request.params as Record<string, string>
  for (const name in params) {
    if (hasUnstorableText(params[name]!)) throw new ApiError('unknown_url', 'The request URL is not valid.')
  }
}
