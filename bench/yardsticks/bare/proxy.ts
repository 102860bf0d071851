import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Dispatcher, Pool } from 'undici'

/**
 * `node:http` in front, undici's `dispatch` behind: the least a proxy on Node can cost. Prints its port. Arguments: the origin of the model
 * server, and `forward` to pass bytes on, or `parse` to parse each event of a stream and encode it again.
 */
const [origin, mode] = process.argv.slice(2) as [string, 'forward' | 'parse']
const upstream = new Pool(origin, { connections: null })
const http = createServer((request, reply) => {
  const pieces: Buffer[] = []
  request.on('data', (piece) => pieces.push(piece))
  request.on('end', () => ask(request, reply, Buffer.concat(pieces)))
})
http.listen(0, '127.0.0.1', () => console.log((http.address() as AddressInfo).port))

function ask(request: IncomingMessage, reply: ServerResponse, body: Buffer): void {
  const headers = { 'content-type': 'application/json', authorization: request.headers.authorization ?? '' }
  let encode: (piece: Buffer) => Buffer | string = (piece) => piece
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart() {},
    onResponseStart(_, status, { 'content-type': type, 'content-length': length }) {
      if (mode === 'parse' && type === 'text/event-stream') encode = eventEncoder()
      reply.writeHead(status, { 'content-type': String(type), ...(length && { 'content-length': String(length) }) })
    },
    onResponseData(_, piece) {
      reply.write(encode(piece))
    },
    onResponseEnd: () => void reply.end(),
    onResponseError: () => void reply.destroy(),
  }
  upstream.dispatch({ path: request.url!, method: 'POST', headers, body }, handler)
}

/** Whole events of what has come so far, each parsed and encoded again. */
function eventEncoder(): (piece: Buffer) => string {
  let rest = ''
  return (piece) => {
    const events = (rest + piece.toString()).split('\n\n')
    rest = events.pop()!
    return events
      .map(
        (event) => (event === 'data: [DONE]' ? event : `data: ${JSON.stringify(JSON.parse(event.slice(6)))}`) + '\n\n',
      )
      .join('')
  }
}
