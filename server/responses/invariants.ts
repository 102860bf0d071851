import { sql } from 'kysely'
import type { Invariant } from '../platform/db/invariant.ts'

/** What is always true of stored responses and their charges. */
export const responseInvariants: readonly Invariant[] = [
  {
    invariant: 'I8',
    title: 'a background response that has not ended is not charged',
    broken: () => sql`
      select r.id from responses r join ledger_entries e on e.request_id = r.request_id and e.kind = 'charge' and e.job_id is null
      where r.background and r.finished_at is null`,
  },
  {
    invariant: 'I9',
    title: 'a response that has not ended has no output yet',
    broken: () => sql`
      select r.id from responses r
      where r.finished_at is null and exists (select from response_items i where i.response_id = r.id and i.direction = 'output')`,
  },
  {
    invariant: 'I20',
    title: "an item belongs to the person whose response it is in, and a response's key to the same person",
    broken: () => sql`
      select i.response_id from response_items i join responses r on r.id = i.response_id
      where (i.org_id, i.user_id) is distinct from (r.org_id, r.user_id)
      union all
      select r.id from responses r join api_keys k on k.id = r.key_id where (k.org_id, k.user_id) is distinct from (r.org_id, r.user_id)`,
  },
  {
    invariant: 'I25',
    title: 'a stored response shows the tokens that were charged',
    broken: () => sql`
      select r.id from responses r left join ledger_entries e on e.request_id = r.request_id and e.kind = 'charge' and e.job_id is null
      where r.body -> 'usage' ->> 'total_tokens' is not null
        and ((r.body -> 'usage' ->> 'input_tokens')::bigint, (r.body -> 'usage' ->> 'output_tokens')::bigint)
            is distinct from (coalesce(e.input_tokens, 0)::bigint, coalesce(e.output_tokens, 0)::bigint)`,
  },
  {
    invariant: 'I25',
    title: 'the events of a background response are numbered without a gap',
    broken: () => sql`
      select response_id from (
        select response_id, first_number,
               coalesce(lag(last_number) over (partition by response_id order by first_number), -1) as before
        from response_event_batches) batch
      where first_number <> before + 1`,
  },
  {
    invariant: 'I25',
    title: 'a background response that ended today has one end event, and one that has not ended none',
    broken: (now) => sql`
      select r.id from responses r left join response_event_batches b on b.response_id = r.id
        left join lateral string_to_table(b.events, E'\n') as last (event)
          on last.event ~ '^\\{"type":"response\\.(completed|incomplete|failed)"'
      where r.background and (r.finished_at is null or r.finished_at > ${now}::timestamptz - interval '1 day')
      group by r.id having count(last.event) <> case when r.finished_at is null then 0 else 1 end`,
  },
  {
    invariant: 'I31',
    title: 'a background response that ended has its event where somebody listened',
    broken: (now) => sql`
      select r.id from responses r join webhook_endpoints w on w.org_id = r.org_id and 'response.' || r.status = any(w.event_types)
      where r.background and r.finished_at > greatest(w.listens_since + interval '1 minute', ${now}::timestamptz - interval '29 days')
        and not exists (select from events e where e.subject_id = r.id and e.type = 'response.' || r.status)`,
  },
  {
    invariant: 'I31',
    title: 'an event about a response that is still there has its status',
    broken: () => sql`
      select e.id from events e join responses t on t.id = e.subject_id where e.type <> 'response.' || t.status`,
  },
]
