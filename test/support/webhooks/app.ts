import { randomUUID } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import OpenAI from 'openai'
import type { AttemptOptions } from '../../../server/webhooks/attempt.ts'
import { deliver } from '../../../server/webhooks/deliver.ts'
import type { DeliveryView } from '../../../server/webhooks/schema.ts'
import { deliveryClaims } from '../../../server/webhooks/store/delivery-claims.ts'
import { newCustomer, startApp, type TestApp, videoBody } from '../http/app.ts'
import { send } from '../http/send.ts'
import { close, listen } from '../listen.ts'

export type Received = {
  path: string
  headers: Headers
  body: string
  event: { id: string; type: string; data: { id: string } }
}

/** Answers of a receiver: a status with headers, or whatever the function does with the response. */
type Reply = { status: number; headers?: Record<string, string> } | ((response: ServerResponse) => void)

/** A server that events are sent to, on a real socket. */
export async function startReceiver() {
  const received: Received[] = []
  let reply: Reply = { status: 200 }
  let arrived = Promise.withResolvers<void>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('utf8')
    const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    received.push({ path: request.url!, headers, body, event: JSON.parse(body) })
    if (typeof reply === 'function') reply(response)
    else response.writeHead(reply.status, reply.headers ?? {}).end('seen')
    arrived.resolve()
    arrived = Promise.withResolvers()
  })
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    received,
    /** How it answers from now on. */
    answer(next: Reply) {
      reply = next
    },
    /** Resolves when it has received `count` events. */
    async atLeast(count: number) {
      while (received.length < count) await arrived.promise
    },
    close: () => close(server),
  }
}

export type WebhooksApp = Awaited<ReturnType<typeof startWebhooksApp>>

export const WEBHOOKS_CONFIG = `
plans: { free: { max_concurrent_renders: 1000 } }
video_models: [{ id: instant-1, engine: instant, per_second: "0.010000" }]
chat_models: [{ id: sandbox-1, engine: sandbox, price_per_million: { input: "1000", output: "1000" } }]
webhooks: { allow_loopback: true }
`

/** The service with instant videos, one customer and a receiver. Deliveries move by `deliverDue` alone, unless `background`. */
export async function startWebhooksApp(options: Parameters<typeof startApp>[0] = {}) {
  const app = await startApp({ config: WEBHOOKS_CONFIG, ...options })
  const [person, receiver] = [await newCustomer(app), await startReceiver()]
  return {
    app,
    person,
    receiver,
    async close() {
      await app.close()
      await receiver.close()
    },
  }
}

/** Creates an endpoint at the receiver for video events. Returns its id and signing secret. */
export async function newEndpoint(
  { app, person, receiver }: Pick<WebhooksApp, 'app' | 'person' | 'receiver'>,
  changes: Record<string, unknown> = {},
): Promise<{ id: string; secret: string }> {
  const event_types = ['video.completed', 'video.failed', 'video.canceled']
  const body = { name: 'Test', url: `${receiver.url}/hook`, event_types, ...changes }
  const made = await send(app, 'POST', '/v1/webhook_endpoints', { key: person.key }, body)
  if (made.status !== 200) throw new Error(`refused: ${JSON.stringify(made.body)}`)
  return { id: made.body.id, secret: made.body.signing_secret }
}

/** A new endpoint, a receiver that has received nothing and answers 200, and a clock that has moved on. */
export async function freshEndpoint(webhooks: WebhooksApp, seconds = 120): Promise<{ id: string; secret: string }> {
  webhooks.receiver.received.length = 0
  webhooks.receiver.answer({ status: 200 })
  const made = await newEndpoint(webhooks)
  webhooks.app.clock.advance(seconds)
  return made
}

/** Ends a video job the short way, by a cancellation, and returns its id. */
export async function canceledVideo({ app, person }: Pick<WebhooksApp, 'app' | 'person'>): Promise<string> {
  const made = await send(app, 'POST', '/v1/videos', { key: person.key }, videoBody())
  await send(app, 'POST', `/v1/videos/${made.body.id}/cancel`, { key: person.key })
  return made.body.id
}

/** Renders a video to its end and returns its id. */
export async function endedVideo({ app, person }: Pick<WebhooksApp, 'app' | 'person'>): Promise<string> {
  const made = await send(app, 'POST', '/v1/videos', { key: person.key }, videoBody())
  await app.tick()
  return made.body.id
}

/** Sends the deliveries that are due by the hand-moved clock, once. Returns how many. */
export async function deliverDue(app: TestApp, options: AttemptOptions = {}, limit = 1000): Promise<number> {
  const claims = deliveryClaims({ owner: 1000, organization: 1000, all: 2000 })
  const wanted = { claim_id: `tick/${randomUUID()}`, now: app.clock.now(), limit }
  const claimed = await claims.claim(app.ctx.db, wanted)
  await Promise.all(claimed.map((each) => deliver(app.ctx, each, options)))
  return claimed.length
}

/** What the SDK of OpenAI makes of a delivery. Throws when the signature is wrong. Times of tests are not today's. */
export function unwrap({ body, headers }: Received, secret: string): Promise<unknown> {
  const client = new OpenAI({ apiKey: 'unused', webhookSecret: secret })
  return client.webhooks.unwrap(body, headers, secret, 10 * 365 * 86_400)
}

/** Deliveries of an endpoint, the oldest first. */
export async function deliveriesOf({ app, person }: Pick<WebhooksApp, 'app' | 'person'>, id: string) {
  const answer = await send(app, 'GET', `/v1/webhook_endpoints/${id}/deliveries?order=asc&limit=100`, {
    key: person.key,
  })
  return answer.body.data as DeliveryView[]
}
