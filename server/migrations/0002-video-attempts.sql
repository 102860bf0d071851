-- Every start of a render is a row. It replaces eleven columns of video_jobs and the tables video_renders and video_unsettled_starts, which
-- stay for version 0.1.0 until the next release: the triggers at the end of this file serve both versions at once.

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
-- For what ended without its attempt being closed.
create index video_attempts_open on video_attempts (created_at) where ended_at is null;
create index video_attempts_age on video_attempts (created_at);

-- The ticket is in video_attempts. Rows of version 0.1.0 pass: there a ticket has an attempt_id.
alter table video_jobs drop constraint video_jobs_cancel_due;
alter table video_jobs add constraint video_jobs_cancel_due
  check (cancel_due_at is null or (status = 'canceled' and attempt_id is not null)) not valid;

-- Version 0.1.0 beside this one. What it writes to the attempt columns of video_jobs becomes an attempt. What this version begins is marked with
-- an engine that no version knows, so version 0.1.0 leaves it alone. This version writes none of these columns but attempt_id.
create function bridge_video_attempt() returns trigger language plpgsql as $$
begin
  if new.attempt_started_at is not distinct from old.attempt_started_at and new.ticket is not distinct from old.ticket
     and new.start_unknown = old.start_unknown and new.start_key is not distinct from old.start_key then
    if new.attempt_id is distinct from old.attempt_id and new.attempt_id is not null then
      new.attempt_started_at := null;
      new.ticket := null;
      new.start_unknown := false;
      new.start_key := null;
      new.engine := 'video_attempts';
      new.engine_address := 'video_attempts';
    end if;
    return new;
  end if;
  if old.attempt_id is not null and new.attempt_id is distinct from old.attempt_id then
    if old.ticket is null and not old.start_unknown then
      delete from video_attempts where id = old.attempt_id;
    else
      update video_attempts set state = case when old.ticket is null then 'abandoned' else 'failed' end, ended_at = now()
      where id = old.attempt_id and ended_at is null;
    end if;
  end if;
  if new.attempt_id is not null and new.attempt_started_at is not null then
    insert into video_attempts as a
      (id, job_id, model, number, paid, engine, engine_address, state, start_key, ticket, created_at, answered_at)
    select new.attempt_id, new.id, new.model, 1 + greatest(0, max(o.number)), false, new.engine, new.engine_address,
      case when new.ticket is not null then 'rendering' when new.start_unknown then 'unknown' else 'starting' end,
      new.start_key, new.ticket, new.attempt_started_at, case when new.ticket is not null then now() end
    from video_attempts o where o.job_id = new.id and o.id <> new.attempt_id
    on conflict (id) do update set state = excluded.state, engine = excluded.engine, engine_address = excluded.engine_address,
      start_key = excluded.start_key, ticket = excluded.ticket, answered_at = coalesce(a.answered_at, excluded.answered_at), ended_at = null;
  end if;
  return new;
end $$;
create trigger video_attempt_bridge before update of attempt_id, attempt_started_at, ticket, start_unknown, start_key on video_jobs
  for each row when (old.attempt_id is distinct from new.attempt_id or old.attempt_started_at is distinct from new.attempt_started_at
    or old.ticket is distinct from new.ticket or old.start_unknown is distinct from new.start_unknown
    or old.start_key is distinct from new.start_key)
  execute function bridge_video_attempt();

create function bridge_video_render() returns trigger language plpgsql as $$
begin
  update video_attempts set render_key = new.render_key
  where job_id = new.job_id and ended_at is null and not exists (select from video_attempts where render_key = new.render_key);
  return null;
end $$;
create trigger video_render_bridge after insert on video_renders for each row execute function bridge_video_render();
