import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Log } from '../log.ts'
import { StartError } from '../start-error.ts'

/**
 * Serves the text of `read` at `/metrics` on a port of its own; port 0 picks one. There is no login: who may connect decides. Throws
 * StartError with the remedy when the address cannot be had.
 */
export async function listenForScrapes(
  at: { host: string; port: number },
  { read, content_type, log }: { read: () => Promise<string>; content_type: string; log: Log },
): Promise<{ url: string; close(): Promise<void> }> {
  let reading: Promise<string> | null = null
  // Scrapes that meet share one reading.
  const readOnce = () => {
    reading ??= read().finally(() => {
      reading = null
    })
    return reading
  }
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 5000 }, (request, response) => {
    const isScrape = request.method === 'GET' && request.url?.split('?', 1)[0] === '/metrics'
    if (!isScrape) return void response.writeHead(404, { 'content-type': 'text/plain' }).end('See /metrics.\n')
    readOnce().then(
      (text) => response.writeHead(200, { 'content-type': content_type, 'cache-control': 'no-store' }).end(text),
      (error: unknown) => {
        log.error('metrics_failed', { error })
        response.writeHead(500, { 'content-type': 'text/plain' }).end('The metrics could not be read; see the log.\n')
      },
    )
  })
  server.maxConnections = CONNECTIONS_MAX
  server.listen(at)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw refused(at, error as NodeJS.ErrnoException)
  }
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${at.host.includes(':') ? `[${at.host}]` : at.host}:${port}/metrics`,
    async close() {
      server.closeAllConnections()
      server.close()
      if (server.listening) await once(server, 'close')
    },
  }
}

/** More than any number of scrapers; few enough that a loop of requests takes nothing from the service. */
const CONNECTIONS_MAX = 20

function refused({ host, port }: { host: string; port: number }, error: NodeJS.ErrnoException): Error {
  const place = `Port ${port} of ${host}, on which metrics are to be served,`
  const remedy = 'Name another one as metrics.port or in KINORA_METRICS_PORT (0 picks a free one), or leave both out.'
  switch (error.code) {
    case 'EADDRINUSE':
      return new StartError(`${place} is in use, perhaps by another Kinora on this machine. ${remedy}`)
    case 'EACCES':
      return new StartError(`${place} may not be used by this user. ${remedy}`)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new StartError(`${host}, on which metrics are to be served (metrics.host), is no address of this machine.`)
    default:
      return error
  }
}
