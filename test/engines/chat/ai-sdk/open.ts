import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type AiSdkChatOptions, aiSdkChat } from '../../../../server/engines/chat/ai-sdk/adapter.ts'
import type { ChatEngine, ChatRequest } from '../../../../server/engines/chat/contract.ts'
import { EngineError, type EngineErrorKind } from '../../../../server/engines/engine-error.ts'
import { allEvents, live } from '../contract.ts'

/** How a server of a provider answers one request. */
export type Reply = (response: ServerResponse) => void
type Received = { url: string; headers: Record<string, unknown>; body: Record<string, unknown> }
/** An engine on a scripted server. `reply` queues one answer; after them comes the usual one. */
export type Subject = {
  engine: ChatEngine
  received: Received[]
  reply(next: Reply): void
  close(): Promise<void>
}

const sse = (frames: object[]) =>
  frames.map((each) => `event: ${(each as { type?: string }).type ?? 'message'}\ndata: ${JSON.stringify(each)}\n\n`)
/** Server-sent events; `cut` leaves the connection open after them. */
export const stream =
  (frames: object[], { cut = false } = {}): Reply =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const frame of sse(frames)) response.write(frame)
    if (!cut) response.end()
  }
export const status =
  (code: number, body: unknown, headers = {}): Reply =>
  (response) =>
    void response
      .writeHead(code, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body))

export function tool(name: string) {
  return { type: 'function' as const, function: { name, parameters: { type: 'object', properties: {} } } }
}

/** The error that a request ends with. */
export async function faultOf(engine: ChatEngine, request: ChatRequest): Promise<EngineError> {
  const outcome = await allEvents(engine, request, live()).then(
    () => null,
    (error: unknown) => error,
  )
  assert.ok(outcome instanceof EngineError, String(outcome))
  return outcome
}

/** What every text of a provider's errors holds. No message of ours may. */
export const LEAK = 'leak-marker'

export type Fault = [what: string, kind: EngineErrorKind, reply: Reply, more?: Partial<AiSdkChatOptions>]

/** Each fault of the provider ends the request as its kind, with nothing of the provider's text, the credential or the prompt in the error. */
export function faultTests(
  name: string,
  {
    open,
    asked,
    faults,
  }: { open(more?: Partial<AiSdkChatOptions>): Promise<Subject>; asked: ChatRequest; faults: Fault[] },
): void {
  for (const [what, kind, answer, more] of faults) {
    test(`${name}, ${kind}: ${what}, without the server's text or the credential`, () =>
      using(open(more), async ({ engine, reply, received }) => {
        reply(answer)
        const error = await faultOf(engine, asked)
        assert.equal(error.kind, kind)
        const shown = `${error.message} ${error.stack} ${JSON.stringify(error)}`
        for (const secret of [LEAK, 'secret-key', 'about the sea']) assert.ok(!shown.includes(secret), secret)
        assert.equal(received.length, 1, 'never sent twice')
      }))
  }
}

export async function using(opening: Promise<Subject>, body: (subject: Subject) => Promise<void>): Promise<void> {
  const subject = await opening
  try {
    await body(subject)
  } finally {
    await subject.engine.close?.()
    await subject.close()
  }
}

/** An engine of a provider package, on a server whose usual answer is given. */
export async function openAiSdk(name: string, usual: Reply, more: Partial<AiSdkChatOptions>): Promise<Subject> {
  const received: Received[] = []
  const replies: Reply[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.push({ url: request.url!, headers: request.headers, body: JSON.parse(body) })
    ;(replies.shift() ?? usual)(response)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return {
    engine: aiSdkChat({ kind: 'ai-sdk', package: name, base_url, api_key: 'secret-key', ...more }),
    received,
    reply: (next) => void replies.push(next),
    async close() {
      const closed = new Promise((done) => server.close(done))
      server.closeAllConnections()
      await closed
    },
  }
}
