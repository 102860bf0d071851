import type { IncomingMessage } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import WebSocket from 'ws'
import { CAUSES, type CheckFailure, expect, StepFailure } from './failure.ts'
import type { Target } from './target.ts'
import { MODEL_SECONDS, responseBody } from './text.ts'

const HANDSHAKE_MILLISECONDS = 30_000

type SocketEvent = {
  type: string
  error?: { code: string; message: string }
  response?: { status: string; error: { code: string; message: string } | null }
}

/** A response over a WebSocket, which is not stored. Throws StepFailure. */
export async function checkSocket(target: Target, key: string, model: string): Promise<string> {
  const { base_url } = target.api
  const sent = 'GET /v1/responses with Upgrade: websocket'
  const headers = { authorization: `Bearer ${key}` }
  return target.within(MODEL_SECONDS, sent, async (signal) => {
    const url = `${base_url.replace(/^http/, 'ws')}/v1/responses`
    const socket = new WebSocket(url, { headers, handshakeTimeout: HANDSHAKE_MILLISECONDS, perMessageDeflate: false })
    const abort = () => socket.terminate()
    signal.addEventListener('abort', abort, { once: true })
    try {
      await opened(socket, sent)
      signal.throwIfAborted()
      socket.send(JSON.stringify({ type: 'response.create', ...responseBody(model), store: false }))
      const events = await eventsUntilEnd(socket)
      signal.throwIfAborted()
      return outcomeOf(events)
    } finally {
      signal.removeEventListener('abort', abort)
      socket.terminate()
    }
  })
}

function opened(socket: WebSocket, sent: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', (error: NodeJS.ErrnoException) =>
      reject(new StepFailure({ sent, received: error.code ?? error.message, cause: CAUSES.upgrade })),
    )
    socket.once('unexpected-response', async (_, answer) => reject(new StepFailure(await refusal(sent, answer))))
  })
}

/** A refusal of Kinora itself says why; what a proxy makes of a handshake that it does not pass on does not. */
async function refusal(sent: string, answer: IncomingMessage): Promise<CheckFailure> {
  const text = await textOf(answer).catch(() => '')
  const message = /"message":"([^"]{1,200})/.exec(text)?.[1] ?? answer.headers['content-type'] ?? 'nothing'
  const received = `HTTP ${answer.statusCode}, ${message}`
  const busy = answer.statusCode === 429 || answer.statusCode === 503
  return { sent, received, cause: busy ? 'The service has no room for more connections now.' : CAUSES.upgrade }
}

async function eventsUntilEnd(socket: WebSocket): Promise<SocketEvent[]> {
  const events: SocketEvent[] = []
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
    socket.on('error', () => resolve())
    socket.on('message', (data) => {
      const event = JSON.parse(String(data)) as SocketEvent
      events.push(event)
      if (/^(error|response\.(completed|incomplete|failed))$/.test(event.type)) resolve()
    })
  })
  return events
}

function outcomeOf(events: SocketEvent[]): string {
  const sent = 'response.create over the WebSocket'
  const last = events.at(-1)
  const error = last?.error ?? last?.response?.error
  expect(!error, { sent, received: `${error?.code}: ${error?.message}`, cause: CAUSES.engine })
  expect(last?.response !== undefined && /completed|incomplete/.test(last.type), {
    sent,
    received: `${events.length} events, then the connection ended`,
    cause: 'The connection was cut off: a time limit of the proxy for connections that were upgraded.',
  })
  return `${last.response.status}, ${events.length} events`
}
