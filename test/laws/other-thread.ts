import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import WebSocket from 'ws'
import { bodyText } from './growth.ts'

/** One request, its body described small: see `textOf`. */
export type ThreadRequest = {
  method: string
  url: string
  headers: Record<string, string>
  value: unknown
  /** The type of the last message: the body is sent on a socket. */
  ends?: string
}

/**
 * A client and a chat server in a thread of their own, so that what they cost is no cost of the service under test. The chat server
 * reads any body, and answers with a short text.
 */
export async function startOtherThread() {
  const worker = new Worker(new URL(import.meta.url))
  const next = () => new Promise<unknown>((resolve) => worker.once('message', resolve))
  const upstream_url = String(await next())
  return {
    upstream_url,
    /** Writes the body down, and gives a function that sends it and resolves with the answer. */
    async prepare(wanted: ThreadRequest): Promise<() => Promise<ThreadAnswer>> {
      worker.postMessage(wanted)
      await next()
      return async () => {
        worker.postMessage('send')
        return (await next()) as ThreadAnswer
      }
    },
    async close() {
      await worker.terminate()
    },
  }
}

/** `body`: its first 300 characters. */
export type ThreadAnswer = { status: number; body: string; sent_bytes: number }

const ANSWER = {
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}

function serve(): void {
  const port = parentPort!
  let wanted: ThreadRequest
  let bytes: Buffer
  const server = createServer((incoming, response) => {
    incoming.resume()
    incoming.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(ANSWER))
    })
  })
  server.listen(0, '127.0.0.1', () => {
    port.postMessage(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)
  })
  port.on('message', (message: ThreadRequest | 'send') => {
    if (message === 'send') return void send(wanted, bytes).then((answer) => port.postMessage(answer))
    wanted = message
    bytes = Buffer.from(typeof wanted.value === 'string' ? wanted.value : bodyText(wanted.value))
    port.postMessage('ready')
  })
}

function send(wanted: ThreadRequest, bytes: Buffer): Promise<ThreadAnswer> {
  return wanted.ends === undefined ? sendRequest(wanted, bytes) : sendMessage(wanted, bytes)
}

async function sendMessage({ url, headers, ends }: ThreadRequest, bytes: Buffer): Promise<ThreadAnswer> {
  const ws = new WebSocket(url.replace('http', 'ws'), { headers, perMessageDeflate: false })
  const sent_bytes = bytes.length
  return new Promise((resolve) => {
    ws.on('open', () => ws.send(bytes, { binary: false }))
    ws.on('error', (error) => resolve({ status: 0, body: error.message, sent_bytes }))
    ws.on('close', (code) => resolve({ status: 0, body: `closed with ${code}`, sent_bytes }))
    ws.on('message', (data: Buffer) => {
      const start = data.subarray(0, 300).toString()
      if (!start.includes(`"type":"${ends}"`) && !start.includes('"type":"error"')) return
      resolve({ status: start.includes('"type":"error"') ? 500 : 200, body: start, sent_bytes })
      ws.terminate()
    })
  })
}

function sendRequest({ method, url, headers }: ThreadRequest, bytes: Buffer): Promise<ThreadAnswer> {
  return new Promise((resolve) => {
    const sent_bytes = bytes.length
    const outgoing = request(url, { method, headers: { ...headers, 'content-length': sent_bytes } }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (piece: string) => {
        if (body.length < 300) body += piece.slice(0, 300)
      })
      response.on('close', () => resolve({ status: response.statusCode!, body, sent_bytes }))
    })
    outgoing.on('error', (error) => resolve({ status: 0, body: error.message, sent_bytes }))
    outgoing.end(bytes)
  })
}

if (!isMainThread && parentPort) serve()
