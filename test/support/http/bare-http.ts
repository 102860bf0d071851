import type { AddressInfo, Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { openHttp } from '../../../server/platform/http/server.ts'
import { silentLog } from '../../../server/platform/log.ts'

export type BareHttp = Awaited<ReturnType<typeof startBareHttp>>

/** The service's HTTP with these routes alone. `sockets` are its ends of all connections, oldest first. */
export async function startBareHttp(register: (routes: FastifyInstance) => Promise<void>) {
  const http = openHttp({ log: silentLog })
  const sockets: Socket[] = []
  http.register(register)
  http.server.on('connection', (socket) => sockets.push(socket))
  await http.listen({ port: 0, host: '127.0.0.1' })
  return {
    http,
    sockets,
    url: `http://127.0.0.1:${(http.server.address() as AddressInfo).port}`,
    async close() {
      http.server.closeAllConnections()
      await http.close()
    },
  }
}

/** Options of a route that takes bodies of these types. */
export const takes = (...accepts: Array<'json'>) => ({
  config: { kinora: { accepts: new Set<string>(accepts) } },
})

/** A request without a body, as it is written on a connection. */
export const get = (path: string, headers: Record<string, string> = {}) => {
  const lines = Object.entries({ host: 'kinora', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/** The head of a request whose body is JSON. */
export const post = (path: string, ...lines: string[]) =>
  ['POST '.concat(path, ' HTTP/1.1'), 'host: kinora', 'content-type: application/json', ...lines, '', ''].join('\r\n')
