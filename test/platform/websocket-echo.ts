import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../../server/platform/errors.ts'
import { type ByteBudget, type Lease, openByteBudget } from '../../server/platform/http/body/byte-budget.ts'
import { openHttp } from '../../server/platform/http/server.ts'
import {
  openSockets,
  type Sockets,
  type SocketTiming,
  type WebSocketConnection,
} from '../../server/platform/http/websocket.ts'
import { type LogFields, silentLog } from '../../server/platform/log.ts'

/** A server that gives every message back, at one path, and the connections it serves. */
export async function startEcho(
  options: {
    budget?: ByteBudget
    timing?: SocketTiming
    limits?: { connections_max: number; per_owner_max: number }
  } = {},
) {
  const lines: LogFields[] = []
  const log = { ...silentLog, info: (_event: string, fields: LogFields = {}) => void lines.push(fields) }
  const sockets = openSockets({ path: '/echo', log, budget: openByteBudget(), ...options })
  const http = openHttp({ log, sockets })
  const served: WebSocketConnection[] = []
  http.get('/echo', async (request, reply) => {
    if (request.headers.authorization === 'no') throw new ApiError('invalid_api_key', 'No.')
    reply.header('x-more', 'told')
    const serve = (connection: WebSocketConnection) => {
      served.push(connection)
      return (text: Buffer | null, lease: Lease) => {
        connection.send(text ? String(text) : '"binary"')
        // What waits for room stays in memory until the test releases it.
        if (text?.includes('keep')) releases.push(lease.end)
        else lease.end()
      }
    }
    const answered = sockets.accept({ request, reply, owner: String(request.headers.owner), serve })
    return answered ?? { plain: true }
  })
  http.post('/slow', async () => {
    await new Promise<void>((resolve) => releases.push(resolve))
    return {}
  })
  await http.listen({ host: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${(http.server.address() as AddressInfo).port}`
  opened.push({ http, sockets })
  return { http, sockets, served, lines, url, releases }
}

const opened: Array<{ http: FastifyInstance; sockets: Sockets }> = []
/** Of messages with the word `keep`, and of requests to `/slow`. */
export const releases: Array<() => void> = []

/** Ends every server that was started. */
export async function stopEchoes(): Promise<void> {
  for (const release of releases) release()
  for (const { http, sockets } of opened) {
    await sockets.drain({ seconds: 0 })
    http.server.closeAllConnections()
    await http.close()
  }
}
