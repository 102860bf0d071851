-- The rows are the queue: they say when they are due and whose lease they are under, and nothing else has to be kept in step with them.
alter table video_jobs
  -- When the engine is next asked to stop the render of this canceled job; null when there is nothing to stop.
  add column cancel_due_at timestamptz,
  add constraint video_jobs_cancel_due check (cancel_due_at is null or (status = 'canceled' and ticket is not null));

-- Wake-ups of an earlier version: a row without a claim is due by its own time; a render that is still to be stopped is noted.
do $$
begin
  if to_regclass('pgboss.job') is null then return; end if;
  update video_jobs set cancel_due_at = finished_at
  where status = 'canceled' and ticket is not null and id in (
    select data ->> 'id' from pgboss.job where name = 'video-cancels' and state::text in ('created', 'retry', 'active'));
  -- The schema goes, unless somebody else keeps queues in it too.
  if not exists (
    select from pgboss.queue where name not in ('videos', 'video-cancels', 'responses') and name not like '\_\_pgboss\_\_%') then
    drop schema pgboss cascade;
  else
    delete from pgboss.job where name in ('videos', 'video-cancels', 'responses');
  end if;
end $$;

drop index video_jobs_due;
create index video_jobs_ready on video_jobs (next_run_at) where finished_at is null and claim_id is null;
create index video_jobs_claimed on video_jobs (claimed_until) where claim_id is not null;
create index video_jobs_cancel_ready on video_jobs (cancel_due_at) where cancel_due_at is not null and claim_id is null;

-- Known while a start is under way, and of a job that ended before its outcome was known. A row whose key stays null is written without
-- touching this index.
update video_jobs set start_key = null where start_key is not null and (attempt_id is null or ticket is not null);
drop index video_jobs_starting;
create unique index video_jobs_starting on video_jobs (start_key) where start_key is not null and finished_at is null;

drop index responses_due;
create index responses_ready on responses (next_run_at) where finished_at is null and claim_id is null;
create index responses_claimed on responses (claimed_until) where claim_id is not null;

-- A row changes some six times before it ends. Room in its page, and vacuum before the dead rows are many, keep a claim cheap.
alter table video_jobs set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05);
alter table responses set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05);
alter table holds set (fillfactor = 80);
alter table accounts set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
