import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import WebSocket, { type ClientOptions } from 'ws'
import { type RawAnswer, rawConnection } from '../raw-http.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of many shapes.
export type Message = Record<string, any>

/** A client over WebSocket whose messages are taken one by one. */
export type SocketClient = {
  ws: WebSocket
  /** Headers of the answer to the handshake. */
  headers: Record<string, string | string[] | undefined>
  send(message: unknown): void
  /** The next message, parsed. Rejects when the connection ends first. */
  next(): Promise<Message>
  /** The close code, once the connection has ended. */
  closed: Promise<{ code: number; reason: string }>
  close(): Promise<void>
}

/** Opens `path` of the service. Rejects when the handshake is refused: see `refusedHandshake`. */
export async function openSocket(
  url: string,
  options: { path?: string; headers?: Record<string, string>; client?: ClientOptions } = {},
): Promise<SocketClient> {
  const { path = '/v1/responses', headers = {}, client } = options
  const ws = new WebSocket(url.replace('http', 'ws') + path, { headers, perMessageDeflate: false, ...client })
  const messages: Message[] = []
  const takers: Array<{ resolve(message: Message): void; reject(error: Error): void }> = []
  let answer: SocketClient['headers'] = {}
  ws.on('upgrade', (response) => {
    answer = response.headers
  })
  ws.on('message', (data) => {
    const message = JSON.parse(String(data)) as Message
    const taker = takers.shift()
    if (taker) taker.resolve(message)
    else messages.push(message)
  })
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    ws.once('close', (code, reason) => {
      resolve({ code, reason: String(reason) })
      for (const { reject } of takers) reject(new Error(`connection closed with ${code} ${reason}`))
    }),
  )
  await once(ws, 'open')
  ws.on('error', () => {})
  return {
    ws,
    headers: answer,
    send: (message) => ws.send(typeof message === 'string' ? message : JSON.stringify(message)),
    next: () =>
      new Promise((resolve, reject) => {
        if (messages.length > 0) resolve(messages.shift()!)
        else if (ws.readyState === WebSocket.CLOSED) reject(new Error('connection is closed'))
        else takers.push({ resolve, reject })
      }),
    closed,
    async close() {
      ws.close()
      await closed
    },
  }
}

/** Sends a handshake with these headers and gives the answer that is not an upgrade, or is one. */
export async function handshake(
  url: string,
  headers: Record<string, string | null> = {},
  request = 'GET /v1/responses',
): Promise<RawAnswer> {
  const connection = await rawConnection(url)
  await connection.write(handshakeText(headers, request))
  const answer = await connection.answer()
  connection.close()
  return answer
}

/** A handshake as a client writes it; null leaves a header out. */
export function handshakeText(headers: Record<string, string | null> = {}, request = 'GET /v1/responses'): string {
  const all: Record<string, string | null> = {
    host: 'kinora',
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': randomBytes(16).toString('base64'),
    ...headers,
  }
  const lines = Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]))
  return [`${request} HTTP/1.1`, ...lines, '', ''].join('\r\n')
}

/** One frame as a client sends it, masked. `first` is its first byte: final bit, reserved bits and opcode. */
export function frame(first: number, payload: Uint8Array | string, { masked = true } = {}): Buffer {
  const body = Buffer.from(payload as string)
  const mask = randomBytes(4)
  const size = body.length
  const head =
    size < 126 ? [first, size] : size < 65_536 ? [first, 126, size >> 8, size & 255] : [first, 127, ...bytesOf(size)]
  if (!masked) return Buffer.concat([Buffer.from(head), body])
  head[1]! |= 0x80
  return Buffer.concat([Buffer.from(head), mask, body.map((byte, i) => byte ^ mask[i % 4]!)])
}

function bytesOf(size: number): number[] {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(size))
  return [...bytes]
}
