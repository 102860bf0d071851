import { request as ask, createServer, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { close, listen } from '../../support/listen.ts'

export type Proxy = { url: string; close(): Promise<void> }

/**
 * What a proxy does that it should not. `gathers_bytes`: it sends an answer in parts of at least so many. `instead`: what it answers by itself
 * to a request, with HTML. `loses`: whether it ends the connection in place of an answer.
 */
export type ProxyFaults = {
  gathers_bytes?: number
  upgrades?: boolean
  body_bytes_max?: number
  loses?(request: IncomingMessage): boolean
  instead?(request: IncomingMessage): { status: number; headers?: Record<string, string>; title: string } | null
}

/** A small reverse proxy before `target`. */
export async function startProxy(target: string, faults: ProxyFaults = {}): Promise<Proxy> {
  const { hostname, port } = new URL(target)
  const server = createServer((request, response) => {
    const page = (status: number, title: string, headers = {}) => {
      response.writeHead(status, { 'content-type': 'text/html', server: 'tiny', ...headers })
      response.end(`<html><head><title>${title}</title></head></html>`)
      request.resume()
    }
    const own = faults.instead?.(request)
    if (own) return page(own.status, own.title, own.headers)
    if (Number(request.headers['content-length'] ?? 0) > (faults.body_bytes_max ?? Number.POSITIVE_INFINITY))
      return page(413, '413 Request Entity Too Large')
    const { upgrade: _, connection: __, ...headers } = request.headers
    const onward = ask({ hostname, port, method: request.method, path: request.url, headers }, (answer) => {
      const { statusCode, headers } = answer
      if (faults.loses?.(request)) return void response.destroy()
      response.writeHead(statusCode!, headers)
      if (faults.gathers_bytes === undefined) return void answer.pipe(response)
      let gathered = Buffer.alloc(0)
      answer.on('data', (chunk) => {
        gathered = Buffer.concat([gathered, chunk])
        if (gathered.length < faults.gathers_bytes!) return
        response.write(gathered)
        gathered = Buffer.alloc(0)
      })
      answer.on('end', () => response.end(gathered))
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  })
  const sockets = new Set<Duplex>()
  if (faults.upgrades !== false)
    server.on('upgrade', (request, socket, head) => {
      const onward = connect(Number(port), hostname)
      sockets.add(onward).add(socket)
      const lines = Array.from({ length: request.rawHeaders.length / 2 }, (_, i) =>
        request.rawHeaders.slice(2 * i, 2 * i + 2).join(': '),
      )
      onward.write(`${[`GET ${request.url} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`)
      onward.write(head)
      onward.pipe(socket).pipe(onward)
      for (const side of [onward, socket]) side.on('error', () => {})
    })
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    async close() {
      for (const socket of sockets) socket.destroy()
      await close(server)
    },
  }
}
