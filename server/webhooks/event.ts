/** What an endpoint can listen to. Source: docs/api/webhooks.md, Events. */
export const EVENT_TYPES = [
  'video.completed',
  'video.failed',
  'video.canceled',
  'response.completed',
  'response.failed',
  'response.incomplete',
  'response.cancelled',
  'balance.low',
  'balance.empty',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** Deliveries that are due, as announced on `QUEUE_TOPIC`. */
export const DELIVERY_QUEUE = 'event-deliveries'
