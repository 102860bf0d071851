-- Kind and addresses of the engine that an attempt was begun on: after the configuration has changed, its ticket is good there alone.
-- Null for attempts begun by an earlier version.
alter table video_jobs add column engine_address text;

-- Requests that every node reads its configuration again; a node that missed the announcement finds the newest here.
create table reloads (
  id text primary key,
  requested_at timestamptz not null,
  requested_by text not null
);
-- What each process made of it.
create table reload_answers (
  reload_id text not null references reloads on delete cascade,
  host text not null,
  pid integer not null,
  result text not null check (result in ('applied', 'unchanged', 'refused')),
  details jsonb not null,
  answered_at timestamptz not null,
  primary key (reload_id, host, pid)
);
