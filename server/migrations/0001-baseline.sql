-- The schema of version 0.1.0. Later changes are migrations of their own: CONTRIBUTING.md, Migrations.
--
-- In this order: identity · files · billing · videos · responses · events and webhooks · nodes.
--
-- Ids are `<prefix>_<ulid>` and compared bytewise (collate "C"), so they sort by time and a list pages by its primary key. Money is bigint in
-- units of 10^-8 of the currency. A table has foreign keys only where a row must not outlive what it names.


------------------------------------------------------------------------------------------------------------------------------------------
-- Identity: people, organizations, console logins and API keys
------------------------------------------------------------------------------------------------------------------------------------------

-- users, organizations, members, logins, sessions, verifications, invitations and two_factors are read and written by the login library too
-- (decision 0002), which expects some columns that Kinora leaves empty.

create table users (
  id text collate "C" primary key,
  name text not null,
  email text not null unique check (email = lower(email)),
  email_verified boolean not null default false,
  image text,
  two_factor_enabled boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table organizations (
  id text collate "C" primary key,
  name text not null,
  -- The name in lower case, as the service lowers it: no two organizations have names that differ in case alone. Every organization has one;
  -- the login library accepts no column here that it does not know and that is required.
  name_key text,
  slug text not null unique,
  logo text,
  metadata text,
  -- A name among the plans of the configuration.
  plan text not null,
  created_at timestamptz not null
);
create unique index organizations_name_key on organizations (name_key);

create table members (
  id text collate "C" primary key,
  org_id text collate "C" not null references organizations (id) on delete cascade,
  user_id text collate "C" not null references users (id) on delete cascade,
  role text not null check (role in ('owner', 'admin', 'member')),
  created_at timestamptz not null,
  unique (org_id, user_id)
);
create index members_of_user on members (user_id);

-- How a person proves who they are: a password (scrypt) or an identity provider. The login library calls this an account; here accounts
-- have money.
create table logins (
  id text collate "C" primary key,
  user_id text collate "C" not null references users (id) on delete cascade,
  provider_id text not null,
  account_id text not null,
  password text,
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamptz,
  refresh_token_expires_at timestamptz,
  scope text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null,
  unique (provider_id, account_id)
);
create index logins_of_user on logins (user_id);

create table sessions (
  id text collate "C" primary key,
  -- SHA-256 of what the cookie carries, as hex.
  token text not null unique,
  user_id text collate "C" not null references users (id) on delete cascade,
  org_id text collate "C" references organizations (id) on delete cascade,
  ip_address text,
  user_agent text,
  created_at timestamptz not null default now(),
  -- The last use, to the minute: a session ends after 12 hours without one.
  updated_at timestamptz not null,
  -- The end of a session however much it is used.
  expires_at timestamptz not null
);
create index sessions_of_user on sessions (user_id);

create table verifications (
  id text collate "C" primary key,
  identifier text not null,
  value text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index verifications_by_identifier on verifications (identifier);

-- Second factors, at most one for a person. Secret and recovery codes are encrypted with a key derived from the service's secret.
create table two_factors (
  id text collate "C" primary key,
  user_id text collate "C" not null unique references users (id) on delete cascade,
  secret text not null,
  backup_codes text not null,
  -- False until a first code has shown that the person's device has the secret.
  verified boolean not null default false,
  failed_verification_count integer not null default 0,
  locked_until timestamptz
);

-- Codes that were used, kept for as long as they would be valid, so none is accepted twice. Keyed hashes.
create table two_factor_codes (
  user_id text collate "C" not null references users (id) on delete cascade,
  code_hash text not null,
  used_at timestamptz not null,
  primary key (user_id, code_hash)
);
create index two_factor_codes_by_time on two_factor_codes (used_at);

-- Sign-ins that were sent to the identity provider and have not come back. Each is taken once.
create table oidc_sign_ins (
  -- SHA-256 of the state that was sent.
  state_hash bytea primary key,
  nonce text not null,
  code_verifier text not null,
  created_at timestamptz not null
);
create index oidc_sign_ins_by_time on oidc_sign_ins (created_at);

-- One row for each sign-in that has not succeeded, by keyed hash of the email and of the address (IPv6: the /64).
create table login_attempts (
  id bigint generated always as identity primary key,
  account_hash text not null,
  address_hash text not null,
  at timestamptz not null
);
create index login_attempts_by_account on login_attempts (account_hash, at);
create index login_attempts_by_address on login_attempts (address_hash, at);
create index login_attempts_by_time on login_attempts (at);

create table invitations (
  id text collate "C" primary key,
  org_id text collate "C" not null references organizations (id) on delete cascade,
  email text not null check (email = lower(email)),
  role text not null check (role in ('owner', 'admin', 'member')),
  status text not null default 'pending' check (status in ('pending', 'accepted', 'rejected', 'canceled')),
  inviter_id text collate "C" not null references users (id) on delete cascade,
  -- SHA-256 of the secret that was handed over. Null: made by the login library, accepted by signing in.
  token_hash bytea unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index invitations_of_org on invitations (org_id, id);
create unique index one_pending_invitation on invitations (org_id, email) where status = 'pending';

create table api_keys (
  id text collate "C" primary key,
  org_id text collate "C" not null references organizations (id) on delete cascade,
  user_id text collate "C" not null references users (id) on delete cascade,
  name text not null,
  -- SHA-256 of the entire key, which is stored nowhere.
  key_hash bytea not null unique check (octet_length(key_hash) = 32),
  -- Prefix, dots and the last four characters: enough to tell keys apart.
  hint text not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index api_keys_of_org on api_keys (org_id, id) where revoked_at is null;

-- How far ahead of time each key has called. Unlogged: after a crash of the server every key has its full allowance.
create unlogged table rate_limits (
  key_id text collate "C" primary key,
  -- Microseconds since the epoch at which the key has its full allowance again.
  full_at bigint not null
);

-- Every process caches callers for a few seconds. These announce at once that one may no longer call.
create function notify_identity() returns trigger language plpgsql as $$
begin
  perform pg_notify('kinora_identity', tg_argv[0] || ':' || (to_jsonb(old) ->> tg_argv[1]));
  return null;
end $$;
create trigger api_key_changed after delete or update of revoked_at on api_keys
  for each row execute function notify_identity('key', 'id');
create trigger session_changed after delete or update of org_id, token on sessions
  for each row execute function notify_identity('session', 'id');
create trigger member_changed after delete or update of role on members
  for each row execute function notify_identity('user', 'user_id');
create trigger plan_changed after update of plan on organizations
  for each row execute function notify_identity('org', 'id');

-- What operators, and people in the console, changed: who, when, what. Never updated; deleted by the retention sweep only.
create table activity_entries (
  id text collate "C" primary key,
  created_at timestamptz not null,
  -- Null: it concerns the entire service. No foreign keys: entries outlive what they name.
  org_id text collate "C",
  actor jsonb not null,
  action text not null,
  target text,
  details jsonb not null
);
create index activity_of_organization on activity_entries (org_id, id);

create function refuse_activity_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('kinora.retention', true) = 'on' then return old; end if;
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;
create trigger activity_is_append_only before update or delete on activity_entries
  for each row execute function refuse_activity_change();
create trigger activity_is_never_emptied before truncate on activity_entries
  for each statement execute function refuse_activity_change();


------------------------------------------------------------------------------------------------------------------------------------------
-- Files
------------------------------------------------------------------------------------------------------------------------------------------

-- Uploads. The bytes are in the blob store under blob_key; the row is what makes them a file.
create table files (
  id text collate "C" primary key,
  org_id text not null,
  user_id text not null,
  purpose text not null check (purpose in
    ('vision', 'video', 'audio', 'user_data', 'assistants', 'batch', 'fine-tune', 'evals')),
  filename text not null check (octet_length(filename) between 1 and 255),
  media_type text not null,
  size_bytes integer not null check (size_bytes between 1 and 100000000),
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  blob_key text not null unique,
  probe jsonb,
  created_at timestamptz not null,
  expires_at timestamptz not null check (expires_at > created_at and expires_at <= created_at + interval '30 days')
);
create index files_by_org on files (org_id, id);
create index files_by_purpose on files (org_id, purpose, id);
create index files_by_expiry on files (expires_at);

-- Files are immutable: what was checked once is what is used later.
create function files_are_immutable() returns trigger language plpgsql as $$
begin
  raise exception 'files are immutable';
end $$;
create trigger files_immutable before update on files for each row execute function files_are_immutable();

-- Files that submitted video jobs still need: if they are deleted or expire, their bytes stay readable for the engine until the job has
-- ended. A row has everything such a read needs, because the file's own row may be gone.
create table file_pins (
  -- The job.
  holder text collate "C" not null,
  file_id text collate "C" not null,
  org_id text collate "C" not null,
  filename text not null,
  media_type text not null,
  size_bytes integer not null,
  sha256 text not null,
  blob_key text not null,
  -- When the job ended, or its start was rejected: nobody reads the file by this row any more, and a sweep deletes it.
  released_at timestamptz,
  primary key (holder, file_id)
);
create index file_pins_by_blob on file_pins (blob_key);
create index file_pins_released on file_pins (released_at) where released_at is not null;

-- Which installation this database is part of. Its files carry the same id: a service starts only where the two agree.
create table installation (
  id text collate "C" primary key,
  -- One row at most.
  single boolean not null unique default true check (single),
  -- The id that this one replaces: files that still carry that one are marked again at the next start.
  moved_from text,
  -- The id of the copy that was made of this database: whichever of the two is started first keeps the files.
  moved_to text,
  created_at timestamptz not null default now()
);


------------------------------------------------------------------------------------------------------------------------------------------
-- Billing
------------------------------------------------------------------------------------------------------------------------------------------

create table accounts (
  org_id text collate "C" primary key,
  -- The sum of the organization's ledger entries. May fall below zero: chat is charged afterwards, and a charge that is due is never rejected.
  balance bigint not null default 0,
  -- The sum of the quotes of its video jobs that have not ended.
  held bigint not null default 0 check (held >= 0),
  -- The number of those jobs.
  running integer not null default 0 check (running >= 0)
);
-- A few rows that every charge updates: room in their pages, and vacuum without a pause.
alter table accounts set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- The foreign keys of holds and ledger_entries are on organizations, not on accounts: the row of an account that is charged all the time has
-- thousands of dead versions while a snapshot is open, and each check of the key would read them.

create table holds (
  job_id text collate "C" primary key,
  org_id text collate "C" not null references organizations (id),
  amount bigint not null check (amount >= 0),
  state text not null default 'placed' check (state in ('placed', 'captured', 'released')),
  placed_at timestamptz not null,
  settled_at timestamptz,
  check ((state = 'placed') = (settled_at is null))
);
-- No index but the primary key: a hold is settled without touching one.
alter table holds set (fillfactor = 80);

create table ledger_entries (
  id text collate "C" primary key,
  org_id text collate "C" not null references organizations (id),
  kind text not null check (kind in ('grant', 'charge')),
  -- Positive adds to the balance.
  amount bigint not null,
  -- No foreign key: an entry outlives the job it paid for.
  job_id text collate "C",
  user_id text collate "C",
  key_id text collate "C",
  request_id text,
  model text,
  seconds integer,
  -- Usage of chat. One row for a request: the usage and its charge are the same row.
  input_tokens integer check (input_tokens >= 0),
  cached_input_tokens integer check (cached_input_tokens between 0 and input_tokens),
  output_tokens integer check (output_tokens >= 0),
  reasoning_tokens integer check (reasoning_tokens between 0 and output_tokens),
  note text,
  created_at timestamptz not null,
  check (kind <> 'charge' or (amount <= 0 and model is not null)),
  check (kind <> 'grant' or note is not null)
);
create index ledger_entries_of_org on ledger_entries (org_id, id);
create unique index one_charge_per_job on ledger_entries (job_id) where kind = 'charge' and job_id is not null;
create unique index one_charge_per_request on ledger_entries (request_id) where kind = 'charge' and job_id is null;

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;
create trigger ledger_is_append_only before update or delete on ledger_entries for each row execute function refuse_change();
create trigger ledger_is_never_emptied before truncate on ledger_entries for each statement execute function refuse_change();

-- The last audit of the invariants: every process reads here whether new video jobs are accepted.
create table audit_state (
  -- One row at most.
  single boolean primary key default true check (single),
  checked_at timestamptz not null,
  -- Of I1 to I4, those that were broken.
  broken text[] not null
);


------------------------------------------------------------------------------------------------------------------------------------------
-- Videos
------------------------------------------------------------------------------------------------------------------------------------------

-- The rows are the queue: they say when they are due and under whose lease they are (decision 0014).
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
  progress smallint not null default 0 check (progress between 0 and 100),

  per_second bigint not null check (per_second >= 0),
  cost bigint not null,
  currency text not null,

  created_at timestamptz not null,
  -- When moderation allowed the job.
  moderated_at timestamptz,
  queued_at timestamptz,
  render_started_at timestamptz,
  completed_at timestamptz,
  finished_at timestamptz,

  -- The render in flight: the intent is written before the engine is called, the ticket before anything else happens.
  attempt_id text,
  attempt_started_at timestamptz,
  -- Of a model with several engines, the one that the attempt was begun on.
  engine text,
  -- Kind and addresses of the engine that the attempt was begun on: after a change of the configuration its ticket is valid only there.
  engine_address text,
  -- The engine was asked to start this attempt and did not answer.
  start_unknown boolean not null default false,
  -- Starts of this job whose outcome was never learned. The second ends the job.
  unknown_starts smallint not null default 0 check (unknown_starts between 0 and 2),
  -- Equal for starts that the engine's list would show alike. Set while a start is in progress, and on a job that ended before the outcome of
  -- its start was known.
  start_key text,
  ticket jsonb,
  attempts integer not null default 0,
  lost integer not null default 0,
  -- Consecutive failures of the present step.
  tries integer not null default 0,

  -- When the present step is due.
  next_run_at timestamptz not null,
  -- The claim of a worker and the end of its lease, by the clock of the database.
  claim_id text,
  claimed_until timestamptz,
  -- When the engine is next asked to stop the render of this canceled job. Null: there is nothing to stop.
  cancel_due_at timestamptz,

  blob_key text,
  output_sha256 text,
  output_size_bytes bigint,
  width integer,
  height integer,
  -- Thumbnail and spritesheet, both or neither: made from the clip soon after the job completed, or when one is first requested.
  thumbnail_key text,
  thumbnail_sha256 text,
  thumbnail_size_bytes integer,
  spritesheet_key text,
  spritesheet_sha256 text,
  spritesheet_size_bytes integer,

  check (cost = per_second * seconds),
  check ((status = 'completed') = (completed_at is not null)),
  check ((status in ('completed', 'failed', 'canceled')) = (finished_at is not null)),
  check ((status = 'failed') = (error_code is not null)),
  check ((error_code is null) = (error_message is null)),
  check ((status = 'completed') = (blob_key is not null and output_sha256 is not null and output_size_bytes is not null)),
  check ((progress = 100) = (status = 'completed')),
  check (ticket is null or attempt_id is not null),
  constraint video_jobs_cancel_due check (cancel_due_at is null or (status = 'canceled' and ticket is not null)),
  constraint video_jobs_variants check (
    num_nulls(thumbnail_key, thumbnail_sha256, thumbnail_size_bytes, spritesheet_key, spritesheet_sha256, spritesheet_size_bytes) in (0, 6)
    and (thumbnail_key is null or status = 'completed'))
);
-- A row changes about six times before it ends. Room in its page, and vacuum before there are many dead rows, keep a claim cheap.
alter table video_jobs set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05);

create index video_jobs_of_org on video_jobs (org_id, id);
-- Lists filtered by status or model. Unfinished jobs are few, since a plan limits them: all their statuses share one index, so a change of
-- status writes to none. `org_id is not null` keeps PostgreSQL from using it for claims, which need another order.
create index video_jobs_open on video_jobs (org_id, id) where finished_at is null and org_id is not null;
-- How a job ended, told by columns that are set only at its end: with the status itself in an index, every change of status would write to
-- every index of the table.
create index video_jobs_ended on video_jobs
  (org_id, (case when completed_at is not null then 'completed' when error_code is not null then 'failed' else 'canceled' end), id)
  where finished_at is not null;
create index video_jobs_ended_of_model on video_jobs
  (org_id, model, (case when completed_at is not null then 'completed' when error_code is not null then 'failed' else 'canceled' end), id)
  where finished_at is not null;
create index video_jobs_finished on video_jobs (finished_at) where finished_at is not null;
-- For claims.
create index video_jobs_ready on video_jobs (next_run_at) where finished_at is null and claim_id is null;
create index video_jobs_cancel_ready on video_jobs (cancel_due_at) where cancel_due_at is not null and claim_id is null;
-- For expired leases only. `where claim_id is not null` would attract the renewal of leases too, which would then read an entry of every
-- job since the oldest open snapshot.
create index video_jobs_leases on video_jobs (claimed_until) where claimed_until is not null;
-- Of jobs whose starts look alike, one at a time is starting.
create unique index video_jobs_starting on video_jobs (start_key) where start_key is not null and finished_at is null;
-- Counts the renders of an engine with a limit. Jobs of models with one engine are never in it.
create index video_jobs_of_engines on video_jobs (model, engine) where engine is not null and finished_at is null;
-- For the sweep of orphans, which asks for hundreds of keys at a time.
create index video_jobs_blob on video_jobs (blob_key) where blob_key is not null;
create index video_jobs_thumbnail on video_jobs (thumbnail_key) where thumbnail_key is not null;
create index video_jobs_spritesheet on video_jobs (spritesheet_key) where spritesheet_key is not null;

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

-- Which job a render of an outside engine belongs to. Rows outlive the job's own, so a render is never taken by a second job.
create table video_renders (
  -- The engine's address and its id of the render.
  render_key text collate "C" primary key,
  job_id text collate "C" not null,
  created_at timestamptz not null
);
create index video_renders_age on video_renders (created_at);

-- Starts of jobs that ended before it was known whether a render had begun. Such a render belongs to nobody, least of all to the next job
-- with the same words. Rows live for an hour, even if the job is deleted.
create table video_unsettled_starts (
  job_id text collate "C" primary key,
  -- As in video_jobs; keyed, so no prompt can be guessed from it.
  start_key text collate "C" not null,
  created_at timestamptz not null
);
create index video_unsettled_starts_key on video_unsettled_starts (start_key);
create index video_unsettled_starts_age on video_unsettled_starts (created_at);

-- That a submission or a clip was moderated, with no word of what it said: digests are keyed with the service's secret.
create table moderation_records (
  id text collate "C" primary key,
  job_id text collate "C" not null,
  org_id text collate "C" not null,
  user_id text collate "C" not null,
  stage text not null check (stage in ('prompt', 'translation', 'output')),
  verdict text not null check (verdict in ('allow', 'block')),
  categories text[] not null,
  engine text not null,
  version text not null,
  text_digest text not null,
  -- Files that were judged completely.
  file_sha256s text[] not null,
  -- Media that were allowed although nothing could judge them: [{file_sha256, part}].
  unjudged jsonb not null default '[]',
  created_at timestamptz not null
);
create index moderation_records_of_job on moderation_records (job_id);
create index moderation_records_age on moderation_records (created_at);

-- What was allowed so far of a submission that is still being judged, part by part: each is asked once, also across tries and restarts.
create table moderation_verdicts (
  job_id text collate "C" not null,
  org_id text collate "C" not null,
  -- Keyed with the service's secret: the part, what it was judged with, and the engine that judged it.
  digest text not null,
  categories text[] not null,
  engine text not null,
  version text not null,
  created_at timestamptz not null,
  primary key (job_id, digest)
);
create index moderation_verdicts_age on moderation_verdicts (created_at);

-- Which version of the video terms a person accepted.
create table video_acceptances (
  org_id text collate "C" not null,
  user_id text collate "C" not null,
  terms_version text not null,
  session_id text not null,
  accepted_at timestamptz not null,
  primary key (org_id, user_id, terms_version)
);
create trigger acceptance_is_append_only before update or delete on video_acceptances for each row execute function refuse_change();

-- Idempotency keys. A reservation has no job yet; an old one belongs to a request that died, and is free again.
create table video_idempotency (
  org_id text collate "C" not null,
  key text not null,
  reservation_id text not null,
  reserved_at timestamptz not null,
  body_digest text not null,
  job_id text collate "C",
  cost bigint,
  currency text,
  created_at timestamptz,
  expires_at timestamptz not null,
  primary key (org_id, key)
);
create index video_idempotency_age on video_idempotency (expires_at);


------------------------------------------------------------------------------------------------------------------------------------------
-- Responses
------------------------------------------------------------------------------------------------------------------------------------------

-- Bodies, requests and items are json, not jsonb: members keep the order in which the client sent them (that of a schema steers the model),
-- and what a model wrote is kept whatever characters it has.
create table responses (
  id text collate "C" primary key,
  org_id text collate "C" not null,
  user_id text collate "C" not null,
  key_id text collate "C",
  -- The request that made it; its charge names the same.
  request_id text not null,
  -- Not a foreign key: a response that is deleted is gone, whatever continues from it.
  previous_response_id text collate "C",
  model text not null,
  status text not null check (status in ('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled')),
  background boolean not null,
  -- The response object without its output, which is in response_items.
  body json not null,
  -- Of its items: the size of a chain is known before it is read.
  size_bytes bigint not null check (size_bytes >= 0),
  created_at timestamptz not null,
  completed_at timestamptz,
  finished_at timestamptz,
  -- What a worker is to do: the request without its input.
  request json,
  attempts integer not null default 0,
  cancel_requested_at timestamptz,
  -- As in video_jobs.
  next_run_at timestamptz,
  claim_id text,
  claimed_until timestamptz,
  check ((status in ('queued', 'in_progress')) = (finished_at is null)),
  check ((status = 'completed') = (completed_at is not null)),
  check (background or finished_at is not null),
  check ((finished_at is null) = (request is not null)),
  check ((finished_at is null) = (next_run_at is not null)),
  check (finished_at is null or claim_id is null),
  check ((claim_id is null) = (claimed_until is null))
);
alter table responses set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05);
create index responses_finished on responses (finished_at) where finished_at is not null;
create index responses_ready on responses (next_run_at) where finished_at is null and claim_id is null;
-- As video_jobs_leases.
create index responses_leases on responses (claimed_until) where claimed_until is not null;

-- Second layer, as check_video_transition.
create function check_response_transition() returns trigger language plpgsql as $$
begin
  if not (
    (old.status = 'queued' and new.status in ('in_progress', 'failed', 'cancelled')) or
    (old.status = 'in_progress' and new.status in ('completed', 'incomplete', 'failed', 'cancelled'))
  ) then
    raise exception 'response may not go from % to %', old.status, new.status using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger response_transition before update of status on responses
  for each row when (old.status is distinct from new.status) execute function check_response_transition();

-- The items of a request, without those of the responses before it, and of its output.
create table response_items (
  response_id text collate "C" not null references responses (id) on delete cascade,
  direction text not null check (direction in ('input', 'output')),
  position integer not null,
  org_id text collate "C" not null,
  user_id text collate "C" not null,
  -- Often chosen by the client, so it is not unique.
  item_id text collate "C" not null check (length(item_id) between 1 and 256),
  -- Grows with every item stored: of items with one id the newest counts.
  written bigint generated always as identity,
  item json not null,
  primary key (response_id, direction, position)
);
create index response_items_by_id on response_items (org_id, user_id, item_id, written);

-- The events of a background response so far, each a line of JSON: whoever follows the response reads here.
create table response_event_batches (
  response_id text collate "C" not null references responses (id) on delete cascade,
  first_number integer not null check (first_number >= 0),
  last_number integer not null,
  events text not null,
  primary key (response_id, first_number),
  check (last_number >= first_number)
);


------------------------------------------------------------------------------------------------------------------------------------------
-- Events and webhooks
------------------------------------------------------------------------------------------------------------------------------------------

-- Who wants to know of changes of state. Events are written in the transaction that makes the change, for the subscriptions of that moment.
create table event_subscriptions (
  id text collate "C" primary key,
  org_id text collate "C" not null references organizations (id),
  event_types text[] not null,
  -- `balance.low` is recorded when the balance falls to this or below; in units of 10^-8.
  low_balance bigint not null check (low_balance >= 0),
  -- While it is off, events are recorded but not sent.
  enabled boolean not null default true,
  -- When it was created, or was last given other event types.
  since timestamptz not null
);
create index event_subscriptions_of_org on event_subscriptions (org_id);

create table events (
  id text collate "C" primary key,
  org_id text collate "C" not null,
  type text not null,
  -- The id of the job, response or organization it is about. No foreign key: an event outlives what it is about.
  subject_id text not null,
  created_at timestamptz not null
);
create index events_by_age on events (created_at);

-- One for each event and subscription. The row is the queue, as in video_jobs.
create table event_deliveries (
  -- `<event_id>/<subscription_id>`
  id text collate "C" primary key,
  event_id text collate "C" not null references events (id) on delete cascade,
  -- No foreign key: the deliveries of a deleted subscription are deleted in batches.
  subscription_id text collate "C" not null,
  org_id text collate "C" not null,
  state text not null check (state in ('pending', 'delivered', 'failed', 'skipped')),
  -- Attempts in total, and those of the present schedule.
  attempts integer not null default 0,
  tries integer not null default 0,
  -- When it is next sent; meaningless unless pending.
  next_try_at timestamptz not null,
  last_try_at timestamptz,
  status_code integer,
  error text,
  claim_id text,
  claimed_until timestamptz,
  check ((claim_id is null) = (claimed_until is null))
);
alter table event_deliveries set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05);
create unique index event_deliveries_of_subscription on event_deliveries (subscription_id, event_id);
-- For lists by state, and for the deliveries of a subscription that are still to be skipped.
create index event_deliveries_by_state on event_deliveries (subscription_id, state, event_id);
create index event_deliveries_of_event on event_deliveries (event_id);
-- For claims, which take turns by subscription.
create index event_deliveries_ready on event_deliveries (subscription_id, next_try_at) where state = 'pending' and claim_id is null;
-- For the depth of the queue.
create index event_deliveries_due on event_deliveries (next_try_at) where state = 'pending' and claim_id is null;
create index event_deliveries_leases on event_deliveries (claimed_until) where claimed_until is not null;

-- Where the events of a subscription are sent. Its event types, and whether it is on, are in the subscription of the same id.
create table webhook_endpoints (
  id text collate "C" primary key references event_subscriptions (id) on delete cascade,
  org_id text collate "C" not null references organizations (id),
  name text not null,
  url text not null,
  -- Encrypted with the secret of the service.
  secret text not null,
  secret_hint text not null,
  previous_secret text,
  previous_secret_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Why it is off: by a person, because it answered 410, or because it failed for days.
  disabled_reason text check (disabled_reason in ('owner', 'gone', 'failing')),
  -- The first attempt that failed since the last one that succeeded.
  failing_since timestamptz,
  check ((previous_secret is null) = (previous_secret_until is null))
);
create index webhook_endpoints_of_org on webhook_endpoints (org_id, id);


------------------------------------------------------------------------------------------------------------------------------------------
-- Nodes: what runs on this database
------------------------------------------------------------------------------------------------------------------------------------------

-- One row for each node from its start to its stop. Whether one is alive is not read from here but from the lock of its id, which a killed
-- node loses with its connection.
create table nodes (
  id text collate "C" primary key,
  host_name text not null,
  -- Distinguishes nodes of one host, with pid, that of its first process.
  data_dir text not null,
  pid integer not null,
  version text not null,
  role text not null check (role in ('api', 'worker', 'all')),
  processes integer not null check (processes >= 1),
  -- Most connections to this database that it opens.
  connections integer not null check (connections >= 1),
  public_url text,
  -- Fingerprints: of the secret that it makes new values with, and of all that it accepts, that one included.
  secret text not null,
  accepted_secrets text[] not null,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now()
);

-- The fingerprint of the secret that a node was last started with.
create table node_secret (
  -- One row at most.
  single boolean primary key default true check (single),
  fingerprint text not null,
  since timestamptz not null default now()
);

-- Processes that work on queues. Each has a shared advisory lock named after its id on the connection it listens on, so that a killed one is
-- noticed at once. Unlogged: after a crash of the server every process connects and announces itself again.
create unlogged table workers (
  id text primary key,
  missing_since timestamptz
);

-- When each periodic task last ended, by the clock of the database: of all processes on this database one runs it, once an interval.
create table sweeps (
  name text primary key,
  ended_at timestamptz not null
);

-- Requests that every node reads its configuration again; a node that missed the announcement finds the newest here.
create table reloads (
  id text primary key,
  requested_at timestamptz not null,
  requested_by text not null
);

-- The result of a reload in each process.
create table reload_answers (
  reload_id text not null references reloads (id) on delete cascade,
  -- Processes in containers may share host name and process id, so the node is part of the key.
  node_id text not null,
  host text not null,
  pid integer not null,
  result text not null check (result in ('applied', 'unchanged', 'refused')),
  details jsonb not null,
  answered_at timestamptz not null,
  primary key (reload_id, node_id, host, pid)
);
