import { sql } from 'kysely'
import type { Invariant } from '../platform/db/invariant.ts'

/** What is always true of events and of where they are sent. A minute's grace: clocks differ, and transactions take time. */
export const webhookInvariants: readonly Invariant[] = [
  {
    invariant: 'I31',
    title: 'a video job that ended has its event where somebody listened',
    broken: (now) => sql`
      select j.id from video_jobs j join event_subscriptions s on s.org_id = j.org_id and 'video.' || j.status = any(s.event_types)
      where j.finished_at > greatest(s.since + interval '1 minute', ${now}::timestamptz - interval '29 days')
        and not exists (select from events e where e.subject_id = j.id and e.type = 'video.' || j.status)`,
  },
  {
    invariant: 'I31',
    title: 'a background response that ended has its event where somebody listened',
    broken: (now) => sql`
      select r.id from responses r join event_subscriptions s on s.org_id = r.org_id and 'response.' || r.status = any(s.event_types)
      where r.background and r.finished_at > greatest(s.since + interval '1 minute', ${now}::timestamptz - interval '29 days')
        and not exists (select from events e where e.subject_id = r.id and e.type = 'response.' || r.status)`,
  },
  {
    invariant: 'I31',
    title: 'an event about a job or a response that is still there has its status',
    broken: () => sql`
      select e.id from events e join video_jobs j on j.id = e.subject_id where e.type <> 'video.' || j.status
      union all
      select e.id from events e join responses r on r.id = e.subject_id where e.type <> 'response.' || r.status`,
  },
  {
    invariant: 'I32',
    title: 'an event has its delivery to each subscription that listens to it',
    broken: () => sql`
      select e.id from events e join event_subscriptions s on s.org_id = e.org_id and e.type = any(s.event_types)
      where e.type <> 'balance.low' and e.created_at > s.since + interval '1 minute'
        and not exists (select from event_deliveries d where d.event_id = e.id and d.subscription_id = s.id)`,
  },
  {
    invariant: 'I32',
    title: 'nothing has waited for an hour for an endpoint that is disabled',
    broken: (now) => sql`
      select d.id from event_deliveries d join webhook_endpoints w on w.id = d.subscription_id
      where w.disabled_reason is not null and w.updated_at < ${now}::timestamptz - interval '1 hour'
        and d.state = 'pending' and d.claim_id is null`,
  },
  {
    invariant: 'I32',
    title: 'an endpoint has its subscription, which is off when it is disabled',
    broken: () => sql`
      select s.id from event_subscriptions s left join webhook_endpoints w on w.id = s.id
      where w.id is null or w.org_id <> s.org_id or s.enabled <> (w.disabled_reason is null)`,
  },
  {
    invariant: 'I20',
    title: 'a delivery is for the organization of its event',
    broken: () => sql`
      select d.id from event_deliveries d join events e on e.id = d.event_id where e.org_id <> d.org_id
      union all
      select d.id from event_deliveries d join event_subscriptions s on s.id = d.subscription_id where s.org_id <> d.org_id`,
  },
  {
    invariant: 'I16',
    title: 'no event is kept an hour past its 30 days',
    broken: (now) => sql`select id from events where created_at < ${now}::timestamptz - interval '30 days 1 hour'`,
  },
]
