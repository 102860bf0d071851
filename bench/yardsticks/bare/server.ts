import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A `node:http` server that sends a fixed JSON text: the least an answer of Node can cost. Prints its port. */
const text = JSON.stringify({ id: 'x'.repeat(32), object: 'video', text: 'y'.repeat(380) })
const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(text) }
const http = createServer((_, reply) => void reply.writeHead(200, headers).end(text))
http.listen(0, '127.0.0.1', () => console.log((http.address() as AddressInfo).port))
