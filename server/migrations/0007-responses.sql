-- Bodies, requests and items are json, not jsonb: the order of members is what the client sent (that of a schema steers the model), and
-- what a model wrote is kept whatever characters it holds.
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
  -- The response object; its output stands in response_items.
  body json not null,
  -- Of its items: a chain is added up before it is read.
  size_bytes bigint not null check (size_bytes >= 0),
  created_at timestamptz not null,
  completed_at timestamptz,
  finished_at timestamptz,
  -- What a worker is to do: the request without its input.
  request json,
  attempts integer not null default 0,
  cancel_requested_at timestamptz,
  -- When a worker should have it; the sweep wakes what is overdue.
  next_run_at timestamptz,
  -- The worker that has it, by the clock of the database.
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
create index responses_finished on responses (finished_at) where finished_at is not null;
create index responses_due on responses (next_run_at) where finished_at is null;

-- Second layer under the fenced updates of the service: a status moves only along the documented transitions, and a terminal one never.
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

-- The items a response was asked with, its own alone, and those it answered.
create table response_items (
  response_id text collate "C" not null references responses (id) on delete cascade,
  direction text not null check (direction in ('input', 'output')),
  position integer not null,
  org_id text collate "C" not null,
  user_id text collate "C" not null,
  -- Chosen by the client as often as by the service, so the same may come again.
  item_id text collate "C" not null check (length(item_id) between 1 and 256),
  -- Grows with every item stored: of items with one id the newest counts.
  written bigint generated always as identity,
  item json not null,
  primary key (response_id, direction, position)
);
create index response_items_by_id on response_items (org_id, user_id, item_id, written);

-- What a background response has told so far, as lines of JSON, one an event: whoever follows it reads here.
create table response_event_batches (
  response_id text collate "C" not null references responses (id) on delete cascade,
  first_number integer not null check (first_number >= 0),
  last_number integer not null,
  events text not null,
  primary key (response_id, first_number),
  check (last_number >= first_number)
);
