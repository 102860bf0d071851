import { createServer, type Socket } from 'node:net'
import { monotonic } from './client.ts'

/**
 * A model server for many streams; prints its port. Every stream has `events` events, one each `gap_ms`, with the moment it was sent. A
 * request that says `flood` is answered without an end, as fast as it is read.
 */
const [events, gap_ms] = process.argv.slice(2).map(Number) as [number, number]
const server = createServer((socket) => {
  socket.setNoDelay(true).on('error', () => {})
  socket.on('data', (bytes) => {
    if (!bytes.includes('"stream":true')) return
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n')
    if (bytes.includes('flood')) flood(socket)
    else sendEvents(socket, events)
  })
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as { port: number }).port))

function sendEvents(socket: Socket, left: number): void {
  const timer = setInterval(() => {
    if (socket.destroyed) return clearInterval(timer)
    if (left-- > 0) return void socket.write(frame(`stamp:${monotonic().toFixed(3)} `))
    clearInterval(timer)
    socket.write(`${frame('', 'stop')}${chunk('data: [DONE]\n\n')}0\r\n\r\n`)
  }, gap_ms)
}

function flood(socket: Socket): void {
  const piece = frame('flood '.repeat(2000))
  const pour = () => {
    while (!socket.destroyed && socket.write(piece)) {}
  }
  socket.on('drain', pour)
  pour()
}

function frame(content: string, finish_reason: string | null = null): string {
  const choices = [{ index: 0, delta: content === '' ? {} : { content }, logprobs: null, finish_reason }]
  const base = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_790_000_000, model: 'upstream' }
  return chunk(`data: ${JSON.stringify({ ...base, choices })}\n\n`)
}

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}
