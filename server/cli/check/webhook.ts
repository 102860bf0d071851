import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import type { ResponseObject } from '../../responses/schema/response.ts'
import type { DeliveryView, EndpointWithSecret } from '../../webhooks/schema.ts'
import { failureOf, StepFailure } from './failure.ts'
import type { Target } from './target.ts'
import { responseBody } from './text.ts'

/** Where events are received: `url` is what the service calls, and leads to this port. */
export type Receiver = { url: string; host: string; port: number }

/** For the response, and for the second attempt to deliver its event, 5 s after the first. */
const EVENT_SECONDS = 120

/** How often the list of deliveries is read for an attempt that failed. */
const POLL_MILLISECONDS = 2000

const EVENT_TYPES = ['response.completed', 'response.incomplete', 'response.failed']

/** What was received: events whose signature is right, and why others were not taken. */
type Inbox = { ids: Set<string>; rejected: string | null; arrived: EventTarget }

/** A webhook endpoint for the end of a background response, whose event arrives here with a valid signature. Throws StepFailure. */
export async function checkWebhook(target: Target, { url, host, port }: Receiver, model: string): Promise<string> {
  const inbox: Inbox = { ids: new Set(), rejected: null, arrived: new EventTarget() }
  let secret = ''
  const server = receiver(inbox, () => secret)
  await listening(server, { host, port })
  try {
    const body = { name: 'kinora check', url, event_types: EVENT_TYPES }
    const endpoint = await target.ask<EndpointWithSecret>('POST', '/v1/webhook_endpoints', { body })
    const path = `/v1/webhook_endpoints/${endpoint.id}`
    target.created(path)
    secret = endpoint.signing_secret
    const started = performance.now()
    const asked = { ...responseBody(model), background: true }
    const { id } = await target.ask<ResponseObject>('POST', '/v1/responses', { body: asked })
    target.created(`/v1/responses/${id}`)
    if (!(await hasArrived(inbox, id, { target, path }))) throw await missing(target, { path, url, inbox })
    const seconds = (performance.now() - started) / 1000
    await target.remove(`/v1/responses/${id}`)
    await target.remove(path)
    return `received after ${seconds.toFixed(1)} s, with a valid signature`
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

function receiver(inbox: Inbox, secretOf: () => string): Server {
  return createServer(async (request, response) => {
    const body = await textOf(request).catch(() => '')
    // Whoever else finds the port.
    if (request.headers['webhook-id'] === undefined) return response.writeHead(404).end()
    try {
      new Webhook(secretOf()).verify(body, request.headers as Record<string, string>)
      inbox.ids.add((JSON.parse(body) as { data: { id: string } }).data.id)
      response.writeHead(204).end()
    } catch (error) {
      inbox.rejected = `${request.method} ${request.url}: ${(error as Error).message}`
      response.writeHead(400).end()
    }
    inbox.arrived.dispatchEvent(new Event('event'))
  })
}

async function listening(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  const sent = `listen on ${host}:${port}`
  server.listen(port, host)
  await once(server, 'listening').catch((error: unknown) => {
    throw new StepFailure({
      ...failureOf(sent, error),
      cause: 'Another program has the port, or the address is not one of this machine: --listen.',
    })
  })
}

/** Whether the event of this response comes in time, with a valid signature. Gives up when an attempt to deliver it has failed. */
async function hasArrived(
  inbox: Inbox,
  id: string,
  { target, path }: { target: Target; path: string },
): Promise<boolean> {
  const until = AbortSignal.any([target.signal, AbortSignal.timeout(EVENT_SECONDS * 1000)])
  while (!inbox.ids.has(id) && inbox.rejected === null && !until.aborted) {
    const pause = AbortSignal.any([until, AbortSignal.timeout(POLL_MILLISECONDS)])
    await once(inbox.arrived, 'event', { signal: pause }).catch(() => {})
    if (!inbox.ids.has(id) && (await lastDelivery(target, path))?.error) break
  }
  target.signal.throwIfAborted()
  return inbox.ids.has(id)
}

async function lastDelivery({ ask }: Target, path: string): Promise<DeliveryView | undefined> {
  return (await ask<{ data: DeliveryView[] }>('GET', `${path}/deliveries?limit=1`)).data[0]
}

/** Why it did not come, as far as the list of deliveries says. */
async function missing(
  target: Target,
  { path, url, inbox }: { path: string; url: string; inbox: Inbox },
): Promise<StepFailure> {
  const sent = `an endpoint for ${url}, and a response whose end it reports`
  if (inbox.rejected !== null) {
    const cause =
      'Something on the way changes the body or the headers of the event, or the clocks differ by more than five minutes.'
    return new StepFailure({ sent, received: inbox.rejected, cause })
  }
  const last = await lastDelivery(target, path)
  const status = last?.status_code == null ? '' : `, HTTP ${last.status_code}`
  const received = last ? `a delivery that is ${last.state}: ${last.error ?? 'no error'}${status}` : 'no event'
  return new StepFailure({ sent, received, cause: CAUSES[last?.error ?? 'none']! })
}

const CAUSES: Readonly<Record<string, string>> = {
  none: 'No node works on background responses and deliveries (--role), or the model is still answering: `kinora admin nodes`.',
  status: 'The URL leads to another program than this check: --webhook-url has to end at --listen.',
  redirect: 'The URL only redirects, and redirects are not followed: give the one to which it leads.',
  timeout:
    'The nodes cannot reach the URL: a firewall for connections from outside, or for those of the nodes to port 443.',
  unreachable: 'The nodes cannot connect to the URL: nothing listens at its address, or its certificate is not valid.',
  unreadable: 'What listens at the URL does not speak HTTP.',
  address_not_allowed: 'The name of the URL has no public address, as the name servers of the nodes see it.',
  secret_unreadable: 'The nodes have another secret than the one with which the endpoint was made.',
}
