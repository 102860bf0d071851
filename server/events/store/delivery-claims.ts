import { sql } from 'kysely'
import { type Claims, claimsOn, LEASE_SECONDS, type QueueTable } from '../../platform/queue/claims.ts'
import type { ObservedQueue } from '../../platform/queue/depth.ts'
import { DELIVERY_QUEUE } from '../event.ts'
import type { EventDelivery } from './deliveries.ts'

export type ClaimedDelivery = EventDelivery & { claim_id: string }

/** How many deliveries this worker is sending, by subscription and by organization. */
export type Sending = { subscriptions: ReadonlyMap<string, number>; organizations: ReadonlyMap<string, number> }

const PENDING: QueueTable = { table: 'event_deliveries', due: 'next_try_at', open: sql`state = 'pending'` }

/** For metrics. */
export const observedDeliveryQueue: ObservedQueue = {
  ...{ ...PENDING, queue: DELIVERY_QUEUE, state: sql`state`, states: ['pending'] },
}

/** For releasing what a dead worker held. */
export const deliveryQueue = { queue: DELIVERY_QUEUE, claims: claimsOn<ClaimedDelivery>(PENDING) } as const

/**
 * Claims on pending deliveries that are due. A subscription, and an organization, has no more under way in one process than its share,
 * and of two organizations the one with less under way comes first. A claim leaves half of the turns of `all` that are free,
 * and an organization has no more under way than that half: however many are slow to answer, turns remain for those that have few.
 * The subscriptions with something pending are found by their first index entry each, however many deliveries wait there. What waits for
 * one that is off or gone is not claimed. Only what is taken is locked: other processes skip locked rows.
 */
export function deliveryClaims(
  sending: Sending,
  most: { subscription: number; organization: number; all: number },
): Claims<ClaimedDelivery> {
  const { open } = PENDING
  return {
    ...claimsOn<ClaimedDelivery>(PENDING),
    async claim(db, { claim_id, now, limit }) {
      const { subscriptions, organizations } = sending
      const free = most.all - [...organizations.values()].reduce((sum, n) => sum + n, 0)
      const half = Math.max(1, Math.floor(free / 2))
      const result = await sql<ClaimedDelivery>`
        with recursive waiting (subscription_id) as (
          (select subscription_id from event_deliveries where ${open} and claim_id is null order by subscription_id limit 1)
          union all
          select (select d.subscription_id from event_deliveries d
                  where ${open} and claim_id is null and d.subscription_id > waiting.subscription_id
                  order by d.subscription_id limit 1)
          from waiting where waiting.subscription_id is not null
        ), due as (
          select first.*,
                 coalesce(busy.n, 0) + row_number() over (partition by first.org_id order by first.next_try_at) as turn
          from waiting
          join event_subscriptions s on s.id = waiting.subscription_id and s.enabled
          left join unnest(${[...subscriptions.keys()]}::text[], ${[...subscriptions.values()]}::int[]) as taken (id, n)
            on taken.id = waiting.subscription_id
          cross join lateral (
            select id, org_id, next_try_at from event_deliveries
            where subscription_id = waiting.subscription_id and ${open} and claim_id is null and next_try_at <= ${now}
            order by next_try_at limit greatest(0, ${most.subscription}::int - coalesce(taken.n, 0))) as first
          left join unnest(${[...organizations.keys()]}::text[], ${[...organizations.values()]}::int[]) as busy (org_id, n)
            on busy.org_id = first.org_id
        )
        update event_deliveries as q set claim_id = ${claim_id}, claimed_until = now() + ${LEASE_SECONDS} * interval '1 second'
        from events e
        where e.id = q.event_id and q.id = any(array(
          select d.id from due join event_deliveries d on d.id = due.id
          where turn <= ${Math.min(most.organization, half)} and d.id = any(array(select id from due)) and ${open} and claim_id is null
          order by turn, due.next_try_at limit ${Math.min(limit, half)} for update of d skip locked))
        returning q.*, e.type, e.subject_id, e.created_at`.execute(db)
      return result.rows
    },
  }
}
