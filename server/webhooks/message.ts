import { Webhook } from 'standardwebhooks'
import { unixSeconds } from '../platform/clock.ts'
import type { EventRow } from './store/events.ts'

export type SignedMessage = { body: string; headers: Record<string, string> }

/** An event signed at `now` with each of the secrets, as Standard Webhooks has it. */
export function signedMessage(event: Omit<EventRow, 'org_id'>, secrets: readonly string[], now: Date): SignedMessage {
  const body = eventBody(event)
  const signatures = secrets.map((secret) => new Webhook(secret).sign(event.id, now, body))
  return { body, headers: eventHeaders(event.id, now, signatures.join(' ')) }
}

/** The headers of a message; for those who look at it later, with a mark in place of the signature. */
export function eventHeaders(id: string, now: Date, signature = 'v1,…'): Record<string, string> {
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(unixSeconds(now)),
    'webhook-signature': signature,
  }
}

/** The body of an event as it is sent. Source: docs/api/webhooks.md, Events. */
export function eventBody({ id, type, subject_id, created_at }: Omit<EventRow, 'org_id'>): string {
  const event = { id, object: 'event', created_at: unixSeconds(created_at), type, data: { id: subject_id } }
  return JSON.stringify(event)
}
