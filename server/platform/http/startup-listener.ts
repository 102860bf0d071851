import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ApiError, errorBody, errorHeaders } from '../errors.ts'
import { newRequestId } from '../ids.ts'
import { listenError } from './listen.ts'

/** What a start waits for. */
export type StartWait = 'database' | 'migrating'

/** Answers before the service can: alive, and not ready. */
export type EarlyListener = {
  /** Listens from the first call on. Returns the port. Throws StartError when the address cannot be had. */
  answer(waiting_for: StartWait): Promise<number>
  /** Frees the port for the service. */
  close(): Promise<void>
}

/**
 * `/healthz` says that the process is alive, so that nobody restarts it while it waits, and `/readyz` why it is not ready; everything else
 * is 503. Source: docs/cli.md, Health.
 */
export function startupListener(at: { host: string; port: number }): EarlyListener {
  let server: Server | null = null
  let reason: StartWait = 'database'
  return {
    async answer(waiting_for) {
      reason = waiting_for
      server ??= await listening(at, () => reason)
      return (server.address() as AddressInfo).port
    },
    async close() {
      const closing = server
      server = null
      if (!closing) return
      await new Promise((resolve) => {
        closing.close(resolve)
        closing.closeAllConnections()
      })
    },
  }
}

const TRY_AGAIN = new ApiError('server_is_overloaded', 'The service is starting. Try again shortly.')

async function listening(at: { host: string; port: number }, reason: () => StartWait): Promise<Server> {
  const server = createServer({ maxHeaderSize: 16_384, headersTimeout: 20_000, requestTimeout: 20_000 })
  server.on('request', (request, reply) => {
    const path = (request.url ?? '').split('?', 1)[0]
    const alive = path === '/healthz'
    const body =
      alive || path === '/readyz'
        ? {
            status: alive ? 'ok' : 'failing',
            reason: reason(),
            database: reason() === 'database' ? 'unreachable' : 'ok',
          }
        : errorBody(TRY_AGAIN)
    reply.writeHead(alive ? 200 : 503, {
      ...(alive ? {} : errorHeaders(TRY_AGAIN)),
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-request-id': newRequestId(),
      connection: 'close',
    })
    reply.end(request.method === 'HEAD' ? undefined : JSON.stringify(body))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, at)))
    server.listen(at, resolve)
  })
  return server
}
