import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { BenchService } from '../support/service.ts'

/** Asks for a stream without an end and takes nothing of it. */
export async function neverRead(service: Pick<BenchService, 'url' | 'api_key'>): Promise<Socket> {
  const { hostname, port } = new URL(service.url)
  const body = JSON.stringify({ model: 'fast-1', stream: true, messages: [{ role: 'user', content: 'flood' }] })
  const head = `host: ${hostname}\r\nauthorization: Bearer ${service.api_key}\r\ncontent-type: application/json`
  const socket = connect({ host: hostname, port: Number(port) }).pause()
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  return socket
}
