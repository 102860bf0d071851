import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { ReceivedRequest, Reply } from './exchange.ts'

/**
 * What goes wrong with one request. `reset` happens before the request takes effect, `lost_reply` after it. `stall` holds the
 * request until `release()`. The others spoil the reply: `cut` breaks off in the middle, `drip` sends byte by byte (so UTF-8 is split),
 * `wrong_length` promises more than it sends, `gzip_bomb` inflates to 64 MB, `giant_line` is 16 MB of JSON without a line break.
 * `answer` sends what it makes of the request; `carryOut` has it take effect, and gives the reply it would have had: see `misbehavior.ts`.
 */
export type Fault =
  | {
      kind: 'reset' | 'lost_reply' | 'stall' | 'cut' | 'drip' | 'wrong_length' | 'gzip_bomb' | 'giant_line' | 'garbage'
    }
  | { kind: 'status'; status: number; body?: string | object; headers?: Record<string, string> }
  | { kind: 'answer'; answer(request: ReceivedRequest, carryOut: () => Reply): Reply }

/** A fault, or what decides for each request which one it meets with, if any. */
export type Choice = Fault | ((request: ReceivedRequest) => Fault | null)

/** Made once: it takes a while. */
let bomb: Buffer | undefined

/** Answers with the fault. `reply` carries the request out and gives the answer it would have had. */
export function sendFault(response: ServerResponse, fault: Fault, request: ReceivedRequest, reply: () => Reply): void {
  switch (fault.kind) {
    case 'answer': {
      const { status, headers, body } = fault.answer(request, reply)
      response.writeHead(status, { 'content-length': body.length, ...headers })
      return void response.end(body)
    }
    case 'status':
      return void sendStatus(response, fault)
    case 'reset':
      return void response.socket?.resetAndDestroy()
    case 'lost_reply':
      reply()
      return void response.socket?.resetAndDestroy()
    case 'drip':
      return void sendDrip(response, reply())
    case 'cut': {
      const { status, headers, body } = reply()
      response.writeHead(status, { ...headers, 'content-length': body.length })
      return void response.write(body.subarray(0, Math.ceil(body.length / 2)), () => response.socket?.destroy())
    }
    case 'wrong_length': {
      const { status, headers, body } = reply()
      const type = headers['content-type'] ?? 'application/octet-stream'
      const head = `HTTP/1.1 ${status} OK\r\ncontent-type: ${type}\r\ncontent-length: ${body.length + 10}\r\nconnection: close\r\n\r\n`
      return void response.socket?.end(Buffer.concat([Buffer.from(head), body]))
    }
    case 'garbage':
      return void response.socket?.end('EHLO this is not http\r\n\r\n')
    case 'gzip_bomb':
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      bomb ??= gzipSync(Buffer.alloc(64 * 1024 * 1024, 32))
      return void response.end(bomb)
    case 'giant_line':
      response.writeHead(200, { 'content-type': 'application/json' })
      return void response.end(
        JSON.stringify({ padding: 'x'.repeat(16 * 1024 * 1024), ...JSON.parse(reply().body.toString()) }),
      )
    default:
      throw new Error(`No way to send the fault ${fault.kind}.`)
  }
}

function sendStatus(response: ServerResponse, fault: Fault & { kind: 'status' }): void {
  const { status, body = '', headers = {} } = fault
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type = typeof body === 'string' ? 'text/plain' : 'application/json'
  response.writeHead(status, { 'content-type': type, ...headers })
  response.end(text)
}

function sendDrip(response: ServerResponse, { status, headers, body }: Reply): void {
  response.writeHead(status, headers)
  const step = (i: number) => {
    if (response.destroyed) return
    if (i >= body.length) return void response.end()
    response.write(body.subarray(i, i + 1), () => setImmediate(step, i + 1))
  }
  step(0)
}
