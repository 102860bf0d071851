import type { FastifyReply } from 'fastify'

/** Aborts when the client goes away before its answer is complete. */
export function abortOnLeaving(reply: FastifyReply): AbortController {
  const left = new AbortController()
  // It may have gone while the caller was being looked up.
  if (reply.raw.destroyed) left.abort()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) left.abort()
  })
  return left
}
