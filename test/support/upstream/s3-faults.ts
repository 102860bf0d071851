import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { close, listen } from '../listen.ts'

/** What happens to one request instead of its answer; null passes it on. */
export type Fault =
  | { kind: 'reset' }
  | { kind: 'stall' }
  /** Nothing of the body is read either. */
  | { kind: 'deaf' }
  | { kind: 'late'; until: Promise<void> }
  | { kind: 'status'; status: number; code: string }
  | { kind: 'body'; status: number; headers?: Record<string, string>; text: string }
  /** The answer is passed on up to so many bytes of its body, then the connection is cut, or nothing follows. */
  | { kind: 'cut'; bytes: number; ends: 'reset' | 'stall' }
  | { kind: 'flip' }

/** A proxy on a real socket in front of an S3 server; `fault` decides on each request, and `seen` counts them. Close it. */
export async function startFaultyS3(upstream: string) {
  const state = {
    fault: (_: IncomingMessage): Fault | null => null,
    seen: [] as string[],
  }
  const server = createServer((incoming, outgoing) => {
    state.seen.push(`${incoming.method} ${incoming.url}`)
    const fault = state.fault(incoming)
    if (fault && isImmediate(fault)) return answer(fault, incoming, outgoing)
    if (fault?.kind === 'late') void fault.until.then(() => pass(upstream, fault, incoming, outgoing))
    else if (fault?.kind !== 'deaf') pass(upstream, fault, incoming, outgoing)
  })
  return {
    endpoint: `http://127.0.0.1:${await listen(server)}`,
    state,
    close: () => close(server),
  }
}

function isImmediate({ kind }: Fault): boolean {
  return kind === 'reset' || kind === 'stall' || kind === 'status' || kind === 'body'
}

function answer(fault: Fault, incoming: IncomingMessage, outgoing: ServerResponse): void {
  incoming.resume()
  if (fault.kind === 'reset') return void incoming.socket.resetAndDestroy()
  if (fault.kind === 'status') {
    const text = `<?xml version="1.0"?><Error><Code>${fault.code}</Code><Message>canary</Message><AWSAccessKeyId>canary</AWSAccessKeyId></Error>`
    incoming.on('end', () => outgoing.writeHead(fault.status, { 'content-type': 'application/xml' }).end(text))
  }
  if (fault.kind === 'body') incoming.on('end', () => outgoing.writeHead(fault.status, fault.headers).end(fault.text))
}

/** The signature names the host that the client meant, so the `host` header stays. */
function pass(upstream: string, fault: Fault | null, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { method, headers, url } = incoming
  const call = request(new URL(url!, upstream), { method: method!, headers }, (reply) => {
    outgoing.writeHead(reply.statusCode!, reply.headers)
    let left = fault?.kind === 'cut' ? fault.bytes : Number.POSITIVE_INFINITY
    reply.on('data', (chunk: Buffer) => {
      if (fault?.kind === 'flip') chunk[0]! ^= 1
      const part = chunk.subarray(0, left)
      left -= part.length
      if (part.length > 0) outgoing.write(part)
      if (left > 0 || fault?.kind !== 'cut') return
      reply.destroy()
      if (fault.ends === 'reset') setImmediate(() => incoming.socket.destroy())
    })
    reply.on('end', () => outgoing.end())
  })
  call.on('error', () => outgoing.destroy())
  incoming.pipe(call)
}
