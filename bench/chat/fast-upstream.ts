import { createServer, type Socket } from 'node:net'
import { listen } from '../../test/support/listen.ts'

/** Length of the JSON body of a plain answer. */
const ANSWER_BYTES = 500

/**
 * A chat server of prepared bytes that parses nothing beyond the length of a body, so that it costs next to nothing. A stream has `events`
 * events of text, each written by itself, `gap_ms` between them; 0: one per turn of the loop. As a program it takes both numbers and prints its URL.
 */
export async function startFastUpstream({ events = 100, gap_ms = 0 } = {}): Promise<{
  url: string
  close(): Promise<void>
}> {
  const plain = plainReply(ANSWER_BYTES)
  const stream = streamReply(events)
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.setNoDelay(true))
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    answerRequests(socket, (wantsStream) =>
      wantsStream ? sendPieces(socket, stream, gap_ms) : void socket.write(plain),
    )
  })
  return {
    url: `http://127.0.0.1:${await listen(server)}/v1`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

function answerRequests(socket: Socket, answer: (wantsStream: boolean) => void): void {
  let waiting = Buffer.alloc(0)
  socket.on('data', (data) => {
    waiting = waiting.length === 0 ? data : Buffer.concat([waiting, data])
    for (;;) {
      const head = waiting.indexOf('\r\n\r\n')
      if (head < 0) return
      const length = Number(/content-length: *(\d+)/i.exec(waiting.toString('latin1', 0, head))?.[1] ?? 0)
      const end = head + 4 + length
      if (waiting.length < end) return
      answer(waiting.includes('"stream":true', head))
      waiting = waiting.subarray(end)
    }
  })
}

function sendPieces(socket: Socket, pieces: readonly Buffer[], gap_ms: number): void {
  let at = 0
  const step = () => {
    if (socket.destroyed) return
    socket.write(pieces[at++]!)
    if (at < pieces.length) gap_ms > 0 ? setTimeout(step, gap_ms) : setImmediate(step)
  }
  step()
}

function plainReply(bytes: number): Buffer {
  const body = (content: string) =>
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_790_000_000,
      model: 'upstream',
      choices: [{ index: 0, message: { role: 'assistant', content }, logprobs: null, finish_reason: 'stop' }],
      usage: { prompt_tokens: 20, completion_tokens: 60, total_tokens: 80 },
    })
  const json = body('x'.repeat(Math.max(0, bytes - body('').length)))
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(json)}\r\n\r\n${json}`,
  )
}

function streamReply(events: number): Buffer[] {
  const frame = (delta: object, finish_reason: string | null, usage?: object) =>
    httpChunk(
      `data: ${JSON.stringify({
        id: 'chatcmpl-1',
        object: 'chat.completion.chunk',
        created: 1_790_000_000,
        model: 'upstream',
        choices: usage ? [] : [{ index: 0, delta, logprobs: null, finish_reason }],
        ...(usage ? { usage } : {}),
      })}\n\n`,
    )
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
  const texts = Array.from({ length: events }, (_, i) => frame({ content: ` word${i % 10}` }, null))
  const usage = { prompt_tokens: 20, completion_tokens: events, total_tokens: 20 + events }
  const tail = [frame({}, 'stop'), frame({}, null, usage), httpChunk('data: [DONE]\n\n'), '0\r\n\r\n'].join('')
  return [head + frame({ role: 'assistant', content: '' }, null), ...texts, tail].map((piece) => Buffer.from(piece))
}

function httpChunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}

if (import.meta.main) {
  const [events, gap_ms] = process.argv.slice(2).map(Number) as [number, number]
  const { url } = await startFastUpstream({ events, gap_ms })
  console.log(url)
}
