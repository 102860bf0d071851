import { type Route, route } from '../identity/caller/route.ts'
import { requireManager } from '../identity/members/members.ts'
import { notFound } from '../platform/errors.ts'
import { abortOnLeaving } from '../platform/http/abort-on-disconnect.ts'
import { pageOf, positionOf } from '../platform/http/list.ts'
import { isId } from '../platform/ids.ts'
import { changeEndpoint, createEndpoint, readEndpoint, redeliver, removeEndpoint, rotateSecret } from './endpoints.ts'
import { EVENT_TYPES } from './event.ts'
import {
  CreateEndpoint,
  DeletedEndpoint,
  DeliveryDetail,
  DeliveryList,
  DeliveryQuery,
  deliveryDetail,
  deliveryView,
  ENDPOINT_PAGE,
  EndpointList,
  EndpointQuery,
  EndpointView,
  EndpointWithSecret,
  EventTypeList,
  endpointView,
  Redeliver,
  RedeliverResult,
  RotateSecret,
  TestEndpoint,
  TestResult,
  UpdateEndpoint,
} from './schema.ts'
import { listAttempts } from './store/attempts.ts'
import { findDelivery, listDeliveries } from './store/deliveries.ts'
import { listEndpoints } from './store/endpoints.ts'
import { openTrials } from './trial.ts'

const PATH = '/v1/webhook_endpoints'
const ONE = `${PATH}/:webhook_endpoint_id`

/** Webhook endpoints: those of the caller's organization, for its owners and admins. */
export function webhookRoutes(): readonly Route[] {
  return [create, list, read, change, remove, rotate, test(openTrials()), deliveries, delivery, again, eventTypes]
}

const create = route({
  method: 'POST',
  path: PATH,
  auth: 'api_key_or_session',
  summary: 'Create a webhook endpoint',
  description:
    'A public `https` URL and the types of events it is sent. The signing secret is shown here and never again.',
  body: CreateEndpoint,
  response: EndpointWithSecret,
  errors: ['permission_denied', 'conflict'],
  example: { name: 'Production', url: 'https://example.com/webhooks', event_types: ['video.completed'] },
  headers: { 'cache-control': 'always' },
  async handle(ctx, { principal, body, reply }) {
    const { endpoint, secret } = await createEndpoint(ctx, principal, body)
    reply.header('cache-control', 'no-store')
    return { ...endpointView(endpoint), signing_secret: secret }
  },
})

const list = route({
  method: 'GET',
  path: PATH,
  auth: 'api_key_or_session',
  summary: 'List webhook endpoints',
  description: 'Those of your organization, without their secrets.',
  query: EndpointQuery,
  response: EndpointList,
  errors: ['permission_denied'],
  async handle(ctx, { principal, query }) {
    requireManager(principal)
    const position = positionOf('webhook_endpoint', query, ENDPOINT_PAGE)
    const rows = await listEndpoints(ctx.db, principal.org_id, position)
    return pageOf(rows, position.limit, endpointView)
  },
})

const read = route({
  method: 'GET',
  path: ONE,
  auth: 'api_key_or_session',
  summary: 'Read a webhook endpoint',
  description: 'Whether it is enabled, and why not.',
  response: EndpointView,
  errors: ['permission_denied'],
  async handle(ctx, { principal, params }) {
    return endpointView(await readEndpoint(ctx, principal, params.webhook_endpoint_id!))
  },
})

const change = route({
  method: 'POST',
  path: ONE,
  auth: 'api_key_or_session',
  summary: 'Change a webhook endpoint, or turn it on or off',
  description: 'Only the members that are sent are changed.',
  body: UpdateEndpoint,
  response: EndpointView,
  errors: ['permission_denied'],
  example: { enabled: true },
  async handle(ctx, { principal, params, body }) {
    return endpointView(await changeEndpoint(ctx, principal, { id: params.webhook_endpoint_id!, body }))
  },
})

const remove = route({
  method: 'DELETE',
  path: ONE,
  auth: 'api_key_or_session',
  summary: 'Delete a webhook endpoint',
  description: 'Deliveries that are pending are not sent.',
  response: DeletedEndpoint,
  errors: ['permission_denied'],
  async handle(ctx, { principal, params }) {
    const id = params.webhook_endpoint_id!
    await removeEndpoint(ctx, principal, id)
    return { id, object: 'webhook_endpoint.deleted', deleted: true }
  },
})

const rotate = route({
  method: 'POST',
  path: `${ONE}/rotate_secret`,
  auth: 'api_key_or_session',
  summary: 'Give a webhook endpoint a new signing secret',
  description: 'The previous secret can sign beside the new one for 24 hours.',
  body: RotateSecret,
  response: EndpointWithSecret,
  errors: ['permission_denied'],
  example: { keep_old_secret_active_for_24_hours: true },
  headers: { 'cache-control': 'always' },
  async handle(ctx, { principal, params, body, reply }) {
    const { endpoint, secret } = await rotateSecret(ctx, principal, {
      id: params.webhook_endpoint_id!,
      keep_old: body.keep_old_secret_active_for_24_hours ?? false,
    })
    reply.header('cache-control', 'no-store')
    return { ...endpointView(endpoint), signing_secret: secret }
  },
})

const test = (trial: ReturnType<typeof openTrials>) =>
  route({
    method: 'POST',
    path: `${ONE}/test`,
    auth: 'api_key_or_session',
    summary: 'Send a sample event to a webhook endpoint',
    description: 'It is sent at once, and the answer says what the receiver answered.',
    body: TestEndpoint,
    response: TestResult,
    errors: ['permission_denied', 'rate_limit_exceeded'],
    example: { event_type: 'video.completed' },
    async handle(ctx, { principal, params, body }) {
      return trial(ctx, principal, { id: params.webhook_endpoint_id!, event_type: body.event_type })
    },
  })

const deliveries = route({
  method: 'GET',
  path: `${ONE}/deliveries`,
  auth: 'api_key_or_session',
  summary: 'List what was sent to a webhook endpoint, and what will be',
  description: 'Each delivery with its attempts, its last status and the time of the next attempt.',
  query: DeliveryQuery,
  response: DeliveryList,
  errors: ['permission_denied'],
  async handle(ctx, { principal, params, query }) {
    const endpoint_id = params.webhook_endpoint_id!
    const position = positionOf('event', query, ENDPOINT_PAGE)
    await readEndpoint(ctx, principal, endpoint_id)
    const which = { org_id: principal.org_id, endpoint_id, state: query.state ?? null }
    const rows = await listDeliveries(ctx.db, which, position)
    return pageOf(
      rows.map((row) => ({ ...row, id: row.event_id })),
      position.limit,
      deliveryView,
    )
  },
})

const delivery = route({
  method: 'GET',
  path: `${ONE}/deliveries/:event_id`,
  auth: 'api_key_or_session',
  summary: 'Read a delivery with what was sent and answered',
  description: 'Its last ten attempts, each with the request and the beginning of the answer.',
  response: DeliveryDetail,
  errors: ['permission_denied'],
  async handle(ctx, { principal, params }) {
    const [endpoint_id, event_id] = [params.webhook_endpoint_id!, params.event_id!]
    await readEndpoint(ctx, principal, endpoint_id)
    const which = { org_id: principal.org_id, endpoint_id, event_id }
    const found = isId('event', event_id) ? await findDelivery(ctx.db, which) : null
    if (!found) throw notFound('event')
    return deliveryDetail(found, await listAttempts(ctx.db, principal.org_id, found.id))
  },
})

const again = route({
  method: 'POST',
  path: `${ONE}/redeliver`,
  auth: 'api_key_or_session',
  summary: 'Send one event, or all since a time, again',
  description: 'They keep their ids, so a receiver recognizes what it has seen.',
  body: Redeliver,
  response: RedeliverResult,
  errors: ['permission_denied', 'conflict'],
  example: { since: 1_790_000_000 },
  async handle(ctx, { principal, params, body, reply }) {
    const id = params.webhook_endpoint_id!
    const count = await redeliver(ctx, principal, { id, body, signal: abortOnLeaving(reply).signal })
    return { object: 'webhook_endpoint.redelivery', webhook_endpoint_id: id, deliveries: count }
  },
})

const eventTypes = route({
  method: 'GET',
  path: '/v1/webhook_event_types',
  auth: 'api_key_or_session',
  summary: 'List the types of events that webhook endpoints can listen to',
  description: 'The same for every organization.',
  response: EventTypeList,
  async handle() {
    return { object: 'list', data: EVENT_TYPES }
  },
})
