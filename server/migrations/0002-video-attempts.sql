-- Every start of a render is a row, in place of eleven columns of video_jobs and the tables video_renders and video_unsettled_starts. Version
-- 0.1.0 cannot serve beside this schema: stop every node before the first one of this version starts.

-- Rows outlive their job, so that a render is never given to a second one, and hold no prompt.
create table video_attempts (
  -- The mark that engines with ids of our choice are given.
  id text collate "C" primary key,
  job_id text collate "C" not null,
  model text not null,
  -- Which start of its job it is. A start that began nothing is made again under the same number.
  number integer not null,
  -- Whether the operator pays for the render, as everywhere but in engines whose renders end with our process.
  paid boolean not null,
  -- Of a model with several engines, the one that was asked.
  engine text,
  -- Kind and addresses of that engine: after a change of the configuration the ticket is valid only there.
  engine_address text,
  -- starting: the intent is written, the engine may have it. unknown: it did not answer. delivered: it says that the clip is finished.
  state text not null check (state in
    ('starting', 'unknown', 'rendering', 'delivered', 'not_begun', 'failed', 'lost', 'canceled', 'completed', 'abandoned')),
  ended_because text,
  -- Equal for starts that the engine's list would show alike; keyed, so no prompt can be guessed from it. Kept where the outcome of the start
  -- was never learned: its render belongs to nobody, least of all to the next job with the same words.
  start_key text,
  -- The engine's address and its id of the render.
  render_key text,
  ticket jsonb,
  -- What the engine said of a finished clip that could not be fetched at once.
  output jsonb,
  -- A word for the render's status that we do not know.
  engine_status text,
  created_at timestamptz not null,
  answered_at timestamptz,
  delivered_at timestamptz,
  -- Since when the engine has said that it does not know the render, or does not have the clip.
  missing_since timestamptz,
  -- When the engine last said something usable about the render.
  last_heard_at timestamptz,
  ended_at timestamptz,
  -- What a job may cost its operator.
  constraint video_attempts_paid check (not paid or number <= 2),
  constraint video_attempts_ended check ((state in ('starting', 'unknown', 'rendering', 'delivered')) = (ended_at is null)),
  constraint video_attempts_ticket check (state not in ('rendering', 'delivered') or answered_at is not null)
);
alter table video_attempts set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05);

create unique index video_attempts_number on video_attempts (job_id, number);
-- A render belongs to one attempt.
create unique index video_attempts_render on video_attempts (render_key) where render_key is not null;
-- Of starts that look alike, one at a time is not settled.
create unique index video_attempts_starting on video_attempts (start_key) where start_key is not null and ended_at is null;
create index video_attempts_unsettled on video_attempts (start_key, ended_at) where start_key is not null and ended_at is not null;
-- Counts the renders of an engine with a limit.
create index video_attempts_of_engines on video_attempts (model, engine) where engine is not null and ended_at is null;
create index video_attempts_age on video_attempts (created_at);

-- Of jobs that have not ended, or whose render is still to be stopped: the present attempt.
insert into video_attempts
  (id, job_id, model, number, paid, engine, engine_address, state, start_key, render_key, ticket, created_at, answered_at, ended_at)
select j.attempt_id, j.id, j.model, greatest(1, j.attempts), false, j.engine, j.engine_address,
  case when j.finished_at is not null then 'canceled' when j.ticket is not null then 'rendering'
       when j.start_unknown then 'unknown' else 'starting' end,
  j.start_key, r.render_key, j.ticket, coalesce(j.attempt_started_at, j.created_at),
  case when j.ticket is not null then coalesce(j.render_started_at, j.created_at) end, j.finished_at
from video_jobs j
left join (select distinct on (job_id) job_id, render_key from video_renders order by job_id, created_at desc) r
  on r.job_id = j.id and j.ticket is not null
where j.attempt_id is not null and (j.finished_at is null or j.cancel_due_at is not null)
on conflict do nothing;

-- Renders that belong to a job, and starts that were never settled: their numbers are below those of starts that count.
insert into video_attempts (id, job_id, model, number, paid, state, render_key, created_at, answered_at, ended_at)
select 'render_' || md5(render_key), job_id, '', - row_number() over (partition by job_id order by created_at), false, 'completed',
  render_key, created_at, created_at, created_at
from video_renders
on conflict do nothing;
insert into video_attempts (id, job_id, model, number, paid, state, start_key, created_at, ended_at)
select 'start_' || job_id, job_id, '', 0, false, 'abandoned', start_key, created_at, created_at
from video_unsettled_starts
on conflict do nothing;

alter table video_jobs drop constraint video_jobs_cancel_due;
alter table video_jobs add constraint video_jobs_cancel_due check (cancel_due_at is null or (status = 'canceled' and attempt_id is not null));
alter table video_jobs
  drop column attempt_started_at,
  drop column engine,
  drop column engine_address,
  drop column start_unknown,
  drop column unknown_starts,
  drop column start_key,
  drop column ticket,
  drop column attempts,
  drop column lost;
drop table video_renders;
drop table video_unsettled_starts;
