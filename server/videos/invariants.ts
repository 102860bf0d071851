import { sql } from 'kysely'
import type { Invariant } from '../platform/db/invariant.ts'

/** What is always true of video jobs, their money and their moderation records. */
export const videoInvariants: readonly Invariant[] = [
  {
    invariant: 'I2',
    title: 'a completed job has exactly one charge, and no other job has any',
    broken: () => sql`
      select j.id from video_jobs j left join ledger_entries e on e.job_id = j.id and e.kind = 'charge'
      group by j.id, j.status having count(e.id) <> case when j.status = 'completed' then 1 else 0 end`,
  },
  {
    invariant: 'I3',
    title: 'charge = quote = per second × seconds',
    broken: () => sql`
      select j.id from video_jobs j join ledger_entries e on e.job_id = j.id and e.kind = 'charge'
      where -e.amount <> j.cost or j.cost <> j.per_second * j.seconds`,
  },
  {
    invariant: 'I3',
    title: 'a hold is the quote of its job, and a captured one its charge',
    broken: () => sql`
      select h.job_id from holds h left join video_jobs j on j.id = h.job_id
      left join ledger_entries e on e.job_id = h.job_id and e.kind = 'charge'
      where h.amount <> coalesce(j.cost, h.amount) or (h.state = 'captured' and -e.amount <> h.amount)`,
  },
  {
    invariant: 'I4',
    title: 'held = sum of the quotes of jobs in flight, running = their number',
    broken: () => sql`
      select a.org_id from accounts a left join video_jobs j on j.org_id = a.org_id and j.finished_at is null
      group by a.org_id, a.held, a.running having a.held <> coalesce(sum(j.cost), 0) or a.running <> count(j.id)`,
  },
  {
    invariant: 'I7',
    title: 'a job that failed or was canceled has its hold released',
    broken: () => sql`
      select j.id from video_jobs j left join holds h on h.job_id = j.id
      where j.status in ('failed', 'canceled') and h.state is distinct from 'released'`,
  },
  {
    invariant: 'I9',
    title: 'a job past moderation was allowed, one past translation passed it',
    broken: (now) => sql`
      select j.id from video_jobs j
      where j.status in ('translating', 'queued', 'in_progress', 'completed') and j.created_at > ${now}::timestamptz - interval '29 days'
        and not exists (select from moderation_records r where r.job_id = j.id and r.stage = 'prompt' and r.verdict = 'allow')`,
  },
  {
    invariant: 'I10',
    title: 'the claim of a worker on a job ends with its lease, and with the job',
    broken: () => sql`
      select id from video_jobs
      where (claim_id is null) <> (claimed_until is null)
         or (claim_id is not null and finished_at is not null and cancel_due_at is null)`,
  },
  {
    invariant: 'I11',
    title: 'a job has at most two starts that its operator pays for',
    broken: () => sql`
      select job_id from video_attempts where paid and state <> 'not_begun' group by job_id having count(*) > 2`,
  },
  {
    invariant: 'I11',
    title: 'a job that runs has one start that has not ended at most, its last one',
    broken: () => sql`
      select a.job_id from video_attempts a join video_jobs j on j.id = a.job_id
      where a.ended_at is null and j.finished_at is null and a.id is distinct from j.attempt_id`,
  },
  {
    invariant: 'I12',
    title: 'a render was started only for a prompt, and a translation, that was allowed',
    broken: (now) => sql`
      select j.id from video_jobs j
      where j.attempt_id is not null and j.engine_prompt is not null and j.created_at > ${now}::timestamptz - interval '29 days'
        and not exists (select from moderation_records r where r.job_id = j.id and r.stage = 'translation' and r.verdict = 'allow')`,
  },
  {
    invariant: 'I15',
    title: 'nothing is held for a job that is gone',
    broken: () => sql`
      select h.job_id from holds h left join video_jobs j on j.id = h.job_id where h.state = 'placed' and j.id is null`,
  },
  {
    invariant: 'I16',
    title: 'no job is kept an hour past its 30 days',
    broken: (now) => sql`select id from video_jobs where finished_at < ${now}::timestamptz - interval '30 days 1 hour'`,
  },
  {
    invariant: 'I16',
    title: 'no share link is kept an hour past its end',
    broken: (now) => sql`select id from share_links where expires_at < ${now}::timestamptz - interval '1 hour'`,
  },
  {
    invariant: 'I18',
    title: 'no moderation record is kept an hour past its 30 days',
    broken: (now) =>
      sql`select id from moderation_records where created_at < ${now}::timestamptz - interval '30 days 1 hour'`,
  },
  {
    invariant: 'I18',
    title: 'no verdict on a part of a submission is kept an hour past its 30 days',
    broken: (now) =>
      sql`select job_id from moderation_verdicts where created_at < ${now}::timestamptz - interval '30 days 1 hour'`,
  },
  {
    invariant: 'I20',
    title: 'a share link shows a clip of its own organization',
    broken: () => sql`
      select l.id from share_links l join video_jobs j on j.id = l.video_id
      where j.org_id <> l.org_id or j.status <> 'completed'`,
  },
  {
    invariant: 'I24',
    // The two times may be of two nodes: a minute is what their clocks differ by at most where one of them does not follow the database's.
    title: 'every job belongs to a person who agreed to the terms before',
    broken: () => sql`
      select j.id from video_jobs j
      where not exists (select from video_acceptances a where a.org_id = j.org_id and a.user_id = j.user_id and a.accepted_at <= j.created_at + interval '1 minute')`,
  },
  {
    invariant: 'I33',
    title: 'what is counted for the video jobs of an organization is what they have',
    broken: () => sql`
      select org_id from (
        select org_id, video_bytes(prompt, output_size_bytes, thumbnail_size_bytes, spritesheet_size_bytes) as bytes from video_jobs
        union all select org_id, - bytes from stored_bytes where kind = 'videos') as each
      group by org_id having sum(bytes) <> 0`,
  },
  {
    invariant: 'I33',
    title: 'what is counted for the records of an organization is what it has',
    broken: () => sql`
      select org_id from (
        select org_id, event_bytes(deliveries) as bytes from events
        union all select org_id, delivery_attempt_bytes(origin, response_headers, response_body) from delivery_attempts
        union all select org_id, moderation_record_bytes() from moderation_records
        union all select org_id, deletion_entry_bytes() from activity_entries where is_deletion(action)
        union all select org_id, - bytes from stored_bytes where kind = 'records') as each
      group by org_id having sum(bytes) <> 0`,
  },
  {
    invariant: 'I31',
    title: 'a video job that ended has its event where somebody listened',
    broken: (now) => sql`
      select j.id from video_jobs j join webhook_endpoints w on w.org_id = j.org_id and 'video.' || j.status = any(w.event_types)
      where j.finished_at > greatest(w.listens_since + interval '1 minute', ${now}::timestamptz - interval '29 days')
        and not exists (select from events e where e.subject_id = j.id and e.type = 'video.' || j.status)`,
  },
  {
    invariant: 'I31',
    title: 'an event about a video job that is still there has its status',
    broken: () => sql`
      select e.id from events e join video_jobs t on t.id = e.subject_id where e.type <> 'video.' || t.status`,
  },
]
