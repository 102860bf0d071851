import Type, { type Static, type TProperties, type TSchema } from 'typebox'
import { unixSeconds } from '../platform/clock.ts'
import { listQuery, listSchema } from '../platform/http/list.ts'
import { formatMoney } from '../platform/money.ts'
import { EVENT_TYPES } from './event.ts'
import { eventBody, eventHeaders } from './message.ts'
import type { AttemptRow } from './store/attempts.ts'
import type { EventDelivery } from './store/deliveries.ts'
import type { EndpointRow } from './store/endpoints.ts'

const Strict = <P extends TProperties>(properties: P) => Type.Object(properties, { additionalProperties: false })
const Nullable = <T extends TSchema>(type: T, description?: string) =>
  Type.Union([type, Type.Null()], description ? { description } : {})
const Name = Type.String({ minLength: 1, maxLength: 100 })
const Url = Type.String({ minLength: 1, maxLength: 2048, description: 'https, at a public address, on port 443.' })
const EventTypeSchema = Type.Enum([...EVENT_TYPES])
const EventTypes = Type.Array(EventTypeSchema, { minItems: 1, maxItems: EVENT_TYPES.length })
const LowBalance = Type.String({
  pattern: '^\\d{1,10}(\\.\\d{1,8})?$',
  description: 'The balance, as a decimal string, at which `balance.low` is sent. Default 10.',
})

export const CreateEndpoint = Strict({
  name: Name,
  url: Url,
  event_types: EventTypes,
  low_balance: Type.Optional(LowBalance),
})
export const UpdateEndpoint = Strict({
  name: Type.Optional(Name),
  url: Type.Optional(Url),
  event_types: Type.Optional(EventTypes),
  low_balance: Type.Optional(LowBalance),
  enabled: Type.Optional(
    Type.Boolean({ description: 'Events are recorded while this is off, and can be sent later by `redeliver`.' }),
  ),
})
export const RotateSecret = Strict({
  keep_old_secret_active_for_24_hours: Type.Optional(
    Type.Boolean({ description: 'Whether the previous secret signs too for 24 hours. Default false.' }),
  ),
})
export const TestEndpoint = Strict({ event_type: EventTypeSchema })
export const Redeliver = Strict({
  event_id: Type.Optional(Type.String({ maxLength: 64, description: 'One event. Instead of `since`.' })),
  since: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 4_102_444_800,
      description: 'Unix seconds: every event since then. Instead of `event_id`.',
    }),
  ),
  undelivered_only: Type.Optional(
    Type.Boolean({ description: 'With `since`: leaves out what has arrived already. Default false.' }),
  ),
})

const EndpointFields = {
  id: Type.String(),
  object: Type.Literal('webhook_endpoint'),
  name: Type.String(),
  url: Type.String(),
  event_types: Type.Array(EventTypeSchema),
  low_balance: Type.String({ description: 'The balance at which `balance.low` is sent.' }),
  created_at: Type.Integer(),
  updated_at: Type.Integer(),
  signing_secret_hint: Type.String({ description: 'The end of the signing secret.' }),
  enabled: Type.Boolean(),
  disabled_reason: Nullable(
    Type.Enum(['owner', 'gone', 'failing']),
    'Why it is off: somebody turned it off, it answered 410, or it failed for five days.',
  ),
  failing_since: Nullable(Type.Integer(), 'The first attempt that failed since the last one that succeeded.'),
  previous_secret_until: Nullable(Type.Integer(), 'Until when the previous secret signs too.'),
}
export const EndpointView = Type.Object(EndpointFields)
export type EndpointView = Static<typeof EndpointView>
export const EndpointWithSecret = Type.Object({
  ...EndpointFields,
  signing_secret: Type.String({ description: 'Shown here and never again.' }),
})
export type EndpointWithSecret = Static<typeof EndpointWithSecret>
export const EndpointList = listSchema(EndpointView)
export const DeletedEndpoint = Type.Object({
  id: Type.String(),
  object: Type.Literal('webhook_endpoint.deleted'),
  deleted: Type.Literal(true),
})

const AttemptError = Type.Enum([
  ...(['status', 'redirect', 'timeout', 'unreachable', 'unreadable'] as const),
  ...(['address_not_allowed', 'secret_unreadable'] as const),
])
export const TestResult = Type.Object({
  object: Type.Literal('webhook_endpoint.test'),
  webhook_endpoint_id: Type.String(),
  event_type: EventTypeSchema,
  status_code: Nullable(Type.Integer(), 'Of the answer; null when there was none.'),
  success: Type.Boolean({ description: 'Whether the status is 2xx.' }),
  error: Nullable(AttemptError, 'What went wrong.'),
})
export type TestResult = Static<typeof TestResult>

const State = Type.Enum(['pending', 'delivered', 'failed', 'skipped'])
const DeliveryFields = {
  id: Type.String({ description: 'The id of the event, which its receiver gets as `webhook-id`.' }),
  object: Type.Literal('webhook_delivery'),
  webhook_endpoint_id: Type.String(),
  event_type: EventTypeSchema,
  data: Type.Object({ id: Type.String() }),
  created_at: Type.Integer({ description: 'When the event happened.' }),
  state: State,
  attempts: Type.Integer(),
  last_attempt_at: Nullable(Type.Integer()),
  status_code: Nullable(Type.Integer(), 'Of the last answer; null when there was none.'),
  error: Nullable(AttemptError, 'What went wrong in the last attempt.'),
  next_attempt_at: Nullable(Type.Integer(), 'Null when there is none.'),
}
export const DeliveryView = Type.Object(DeliveryFields)
export type DeliveryView = Static<typeof DeliveryView>
const Headers = Type.Record(Type.String(), Type.String())
export const DeliveryDetail = Type.Object({
  ...DeliveryFields,
  request_body: Type.String({ description: 'The body that every attempt sends.' }),
  sent: Type.Array(
    Type.Object({
      number: Type.Integer({ description: 'Which attempt it was, from 1.' }),
      sent_at: Type.Integer(),
      origin: Type.String({ description: 'Of the URL it was sent to.' }),
      request_headers: Type.Record(Type.String(), Type.String(), { description: 'With the signature masked.' }),
      status_code: Nullable(Type.Integer(), 'Of the answer; null when there was none.'),
      error: Nullable(AttemptError, 'What went wrong.'),
      response_headers: Nullable(Headers, 'Some headers of the answer; null when there was none.'),
      response_body: Nullable(Type.String(), 'At most the first 1024 bytes of the answer; null when there was none.'),
    }),
    { description: 'The last ten attempts, the newest first.' },
  ),
})
export type DeliveryDetail = Static<typeof DeliveryDetail>
export const DeliveryList = listSchema(DeliveryView)
export const RedeliverResult = Type.Object({
  object: Type.Literal('webhook_endpoint.redelivery'),
  webhook_endpoint_id: Type.String(),
  deliveries: Type.Integer({ description: 'How many events are sent again.' }),
})
export type RedeliverResult = Static<typeof RedeliverResult>
export const EventTypeList = Type.Object({ object: Type.Literal('list'), data: Type.Array(EventTypeSchema) })

export const ENDPOINT_PAGE = { default: 20, max: 100 } as const
export const EndpointQuery = Type.Object(listQuery(ENDPOINT_PAGE))
export const DeliveryQuery = Type.Object({ ...listQuery(ENDPOINT_PAGE), state: Type.Optional(State) })

export function endpointView(endpoint: EndpointRow): EndpointView {
  const seconds = (date: Date | null) => (date === null ? null : unixSeconds(date))
  return {
    id: endpoint.id,
    object: 'webhook_endpoint',
    name: endpoint.name,
    url: endpoint.url,
    event_types: endpoint.event_types,
    low_balance: formatMoney(endpoint.low_balance),
    created_at: unixSeconds(endpoint.created_at),
    updated_at: unixSeconds(endpoint.updated_at),
    signing_secret_hint: endpoint.secret_hint,
    enabled: endpoint.disabled_reason === null,
    disabled_reason: endpoint.disabled_reason,
    failing_since: seconds(endpoint.failing_since),
    previous_secret_until: seconds(endpoint.previous_secret_until),
  }
}

export function deliveryView(delivery: EventDelivery): DeliveryView {
  return {
    id: delivery.event_id,
    object: 'webhook_delivery',
    webhook_endpoint_id: delivery.endpoint_id,
    event_type: delivery.type,
    data: { id: delivery.subject_id },
    created_at: unixSeconds(delivery.created_at),
    state: delivery.state,
    attempts: delivery.attempts,
    last_attempt_at: delivery.last_try_at && unixSeconds(delivery.last_try_at),
    status_code: delivery.status_code,
    error: delivery.error as DeliveryView['error'],
    next_attempt_at: delivery.state === 'pending' ? unixSeconds(delivery.next_try_at) : null,
  }
}

export function deliveryDetail(delivery: EventDelivery, attempts: readonly AttemptRow[]): DeliveryDetail {
  const { event_id, type, subject_id, created_at } = delivery
  return {
    ...deliveryView(delivery),
    request_body: eventBody({ id: event_id, type, subject_id, created_at }),
    sent: attempts.map(({ number, sent_at, origin, status_code, error, response_headers, response_body }) => ({
      ...{
        number,
        sent_at: unixSeconds(sent_at),
        origin,
        request_headers: eventHeaders(event_id, sent_at),
        status_code,
      },
      error: error as DeliveryView['error'],
      response_headers,
      response_body,
    })),
  }
}
