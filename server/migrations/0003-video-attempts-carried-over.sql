-- The attempts of version 0.1.0. A file of its own, so that 0002 locks video_jobs for a moment only: this one may copy the renders of a month.

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
