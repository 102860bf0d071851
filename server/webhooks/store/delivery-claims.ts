import { sql } from 'kysely'
import { type Claims, claimsOn, type QueueTable } from '../../platform/queue/claims.ts'
import type { MeasuredQueue } from '../../platform/queue/depth.ts'
import { fairClaims, type Shares } from '../../platform/queue/fair-claims.ts'
import { DELIVERY_QUEUE } from '../event.ts'
import type { EventDelivery } from './deliveries.ts'

export type ClaimedDelivery = EventDelivery & { claim_id: string }

const PENDING: QueueTable = { table: 'event_deliveries', due: 'next_try_at', open: sql`state = 'pending'` }

/** For metrics. */
export const measuredDeliveryQueue: MeasuredQueue = {
  ...PENDING,
  queue: DELIVERY_QUEUE,
  state: sql`state`,
  states: ['pending'],
  created: sql`(select e.created_at from events e where e.id = event_id)`,
}

/** For releasing what a dead consumer held. */
export const deliveryQueue = { queue: DELIVERY_QUEUE, claims: claimsOn<ClaimedDelivery>(PENDING) } as const

/** Claims on pending deliveries that are due, whose owners are endpoints. What waits for one that is disabled or deleted is not claimed. */
export function deliveryClaims(shares: Shares): Claims<ClaimedDelivery> {
  const enabled = sql`exists (select from webhook_endpoints w where w.id = waiting.owner and w.disabled_reason is null)`
  const read = sql`select q.*, e.type, e.subject_id, e.created_at from q join events e on e.id = q.event_id`
  return fairClaims({ ...PENDING, owner: 'endpoint_id', owners: enabled, read }, shares)
}
