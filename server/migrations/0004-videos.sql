create table video_jobs (
  id text collate "C" primary key,
  org_id text collate "C" not null,
  user_id text collate "C" not null,
  key_id text collate "C",
  request_id text not null,
  model text not null,
  prompt text not null,
  -- What the engine is given when it is not the prompt itself.
  engine_prompt text,
  seconds smallint not null check (seconds between 4 and 15),
  aspect_ratio text not null,
  -- [{role, file_id, sha256}]
  inputs jsonb not null,
  status text not null default 'moderating'
    check (status in ('moderating', 'translating', 'queued', 'in_progress', 'completed', 'failed', 'canceled')),
  error_code text,
  error_message text,
  per_second bigint not null check (per_second >= 0),
  cost bigint not null,
  currency text not null,
  progress smallint not null default 0 check (progress between 0 and 100),
  created_at timestamptz not null,
  queued_at timestamptz,
  render_started_at timestamptz,
  completed_at timestamptz,
  finished_at timestamptz,
  -- The render in flight: the intent is written before the engine is called, the ticket before anything else happens.
  attempt_id text,
  attempt_started_at timestamptz,
  ticket jsonb,
  attempts integer not null default 0,
  lost integer not null default 0,
  -- Failures of the present step in a row.
  tries integer not null default 0,
  -- When the present step is due; the sweep wakes jobs that are overdue.
  next_run_at timestamptz not null,
  -- The worker that has the job, by the clock of the database.
  claim_id text,
  claimed_until timestamptz,
  blob_key text,
  output_sha256 text,
  output_size_bytes bigint,
  width integer,
  height integer,
  check (cost = per_second * seconds),
  check ((status = 'completed') = (completed_at is not null)),
  check ((status in ('completed', 'failed', 'canceled')) = (finished_at is not null)),
  check ((status = 'failed') = (error_code is not null)),
  check ((error_code is null) = (error_message is null)),
  check ((status = 'completed') = (blob_key is not null and output_sha256 is not null and output_size_bytes is not null)),
  check ((progress = 100) = (status = 'completed')),
  check (ticket is null or attempt_id is not null)
);
create index video_jobs_of_org on video_jobs (org_id, id);
create index video_jobs_due on video_jobs (next_run_at) where finished_at is null;
create index video_jobs_finished on video_jobs (finished_at) where finished_at is not null;
create index video_jobs_blob on video_jobs (blob_key) where blob_key is not null;

-- Second layer under the fenced updates of the service: a status moves only along the documented transitions, and a terminal one never.
create function check_video_transition() returns trigger language plpgsql as $$
begin
  if not (
    (old.status = 'moderating' and new.status in ('translating', 'failed', 'canceled')) or
    (old.status = 'translating' and new.status in ('queued', 'failed', 'canceled')) or
    (old.status = 'queued' and new.status in ('in_progress', 'failed', 'canceled')) or
    (old.status = 'in_progress' and new.status in ('completed', 'failed', 'canceled'))
  ) then
    raise exception 'video job may not go from % to %', old.status, new.status using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger video_transition before update of status on video_jobs
  for each row when (old.status is distinct from new.status) execute function check_video_transition();

-- That a submission was moderated, with no word of what it said: digests are keyed with the service's secret.
create table moderation_records (
  id text collate "C" primary key,
  job_id text collate "C" not null,
  org_id text collate "C" not null,
  user_id text collate "C" not null,
  stage text not null check (stage in ('prompt', 'translation')),
  verdict text not null check (verdict in ('allow', 'block')),
  categories text[] not null,
  engine text not null,
  version text not null,
  text_digest text not null,
  file_sha256s text[] not null,
  created_at timestamptz not null
);
create index moderation_records_of_job on moderation_records (job_id);
create index moderation_records_age on moderation_records (created_at);

create table video_acceptances (
  org_id text collate "C" not null,
  user_id text collate "C" not null,
  terms_version text not null,
  session_id text not null,
  accepted_at timestamptz not null,
  primary key (org_id, user_id, terms_version)
);
create trigger acceptance_is_append_only before update or delete on video_acceptances for each row execute function refuse_change();

-- A claim has no job yet; a claim older than its lease is free again.
create table video_idempotency (
  org_id text collate "C" not null,
  key text not null,
  claim_id text not null,
  claimed_at timestamptz not null,
  body_digest text not null,
  job_id text collate "C",
  cost bigint,
  currency text,
  created_at timestamptz,
  expires_at timestamptz not null,
  primary key (org_id, key)
);
create index video_idempotency_age on video_idempotency (expires_at);
