-- Which job a render of an outside engine belongs to. Rows outlive the job's own, so that a render is never taken by a second job.
create table video_renders (
  -- The engine's address and its id of the render.
  render_key text collate "C" primary key,
  job_id text collate "C" not null,
  created_at timestamptz not null
);
create index video_renders_age on video_renders (created_at);

alter table video_jobs
  -- The engine was asked to start this attempt and gave no answer.
  add column start_unknown boolean not null default false,
  -- Starts of this job whose outcome was never learned. The second ends the job.
  add column unknown_starts smallint not null default 0 check (unknown_starts between 0 and 2),
  -- Equal for starts that the engine's list would show alike.
  add column start_key text;
create unique index video_jobs_starting on video_jobs (start_key)
  where attempt_id is not null and ticket is null and finished_at is null;
