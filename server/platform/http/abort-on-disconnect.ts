import type { IncomingMessage } from 'node:http'
import type { FastifyReply } from 'fastify'
import { isDatabaseDown } from '../db/db.ts'
import { ApiError } from '../errors.ts'

/** Aborts when the client goes away before its answer is complete. */
export function abortOnLeaving(reply: FastifyReply): AbortController {
  const left = new AbortController()
  // It may have gone while the caller was being looked up.
  if (reply.raw.destroyed) left.abort(endedEarly())
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) left.abort(endedEarly())
  })
  return left
}

/** Work on a request before there is an answer to it: its signal aborts when the client goes away. */
export async function whileConnected<T>(
  { socket }: IncomingMessage,
  work: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const left = new AbortController()
  const leave = () => left.abort(endedEarly())
  if (socket.destroyed) leave()
  socket.once('close', leave)
  try {
    return await work(left.signal)
  } finally {
    socket.off('close', leave)
  }
}

/** Whether the client has gone away. When a write to it fails, its socket is closed and the answer not yet. */
export function isDisconnected({ raw, request }: FastifyReply): boolean {
  return raw.destroyed || request.raw.socket.destroyed
}

/** With which codes reads and writes end that waited for a client who has gone. `isDatabaseDown` knows those of the database. */
const GONE = new Set(['ECONNRESET', 'EPIPE', 'ECANCELED', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'])

/** Whether an error is of the connection to the client that is answered. */
export function isOfClient(error: unknown, reply: FastifyReply): boolean {
  const { code = '' } = error as { code?: string }
  return isDisconnected(reply) && GONE.has(code) && !isDatabaseDown(error)
}

export function endedEarly(): ApiError {
  return new ApiError('invalid_request_error', 'The request ended before it was complete.')
}
