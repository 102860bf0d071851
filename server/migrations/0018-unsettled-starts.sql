-- Starts of jobs that ended before it was known whether a render had begun. Such a render belongs to nobody, and least of all to the
-- next job with the same words. Rows live for an hour, also when the job is deleted.
create table video_unsettled_starts (
  job_id text collate "C" primary key,
  -- As in video_jobs; keyed, so that no prompt can be guessed from it.
  start_key text collate "C" not null,
  created_at timestamptz not null
);
create index video_unsettled_starts_key on video_unsettled_starts (start_key);
create index video_unsettled_starts_age on video_unsettled_starts (created_at);
