import { sql } from 'kysely'
import type { Invariant } from '../platform/db/invariant.ts'

/** What is always true of events and of where they are sent. A minute's grace: clocks differ, and transactions take time. */
export const webhookInvariants: readonly Invariant[] = [
  {
    invariant: 'I32',
    title: 'an event has its delivery to each endpoint that listens to it',
    broken: () => sql`
      select e.id from events e join webhook_endpoints w on w.org_id = e.org_id and e.type = any(w.event_types)
      where e.type <> 'balance.low' and e.created_at > w.listens_since + interval '1 minute'
        and not exists (select from event_deliveries d where d.event_id = e.id and d.endpoint_id = w.id)`,
  },
  {
    invariant: 'I32',
    title: 'nothing has waited for an hour for an endpoint that is disabled',
    broken: (now) => sql`
      select d.id from event_deliveries d join webhook_endpoints w on w.id = d.endpoint_id
      where w.disabled_reason is not null and w.updated_at < ${now}::timestamptz - interval '1 hour'
        and d.state = 'pending' and d.claim_id is null`,
  },
  {
    invariant: 'I20',
    title: 'a delivery is for the organization of its event',
    broken: () => sql`
      select d.id from event_deliveries d join events e on e.id = d.event_id where e.org_id <> d.org_id
      union all
      select d.id from event_deliveries d join webhook_endpoints w on w.id = d.endpoint_id where w.org_id <> d.org_id`,
  },
  {
    invariant: 'I16',
    title: 'no event is kept an hour past its 30 days',
    broken: (now) => sql`select id from events where created_at < ${now}::timestamptz - interval '30 days 1 hour'`,
  },
]
