-- What an operator asks at night.

-- What each process last reported of itself, every ten seconds. A process that hangs reports nothing, although its connections last.
create table process_states (
  node_id text collate "C" not null,
  pid integer not null,
  reported_at timestamptz not null default now(),
  -- Subjects of incidents that it sees now.
  away text[] not null,
  state jsonb not null,
  primary key (node_id, pid)
);

-- What was lost, from when to when: 'database', 'bucket', 'engine <name>' or 'node <id>'. One that is lost again within a minute is the same one.
create table incidents (
  id text collate "C" primary key,
  subject text not null,
  -- The node that saw it first.
  node_id text not null,
  since timestamptz not null,
  -- Null while it lasts.
  until timestamptz,
  -- How often it was lost.
  times integer not null default 1,
  -- The last error.
  detail text not null
);
create unique index incidents_lasting on incidents (subject) where until is null;
create index incidents_since on incidents (since desc, id);

-- How often requests of an organization were refused, by the code of the error, in spans of five minutes. Kept for a day.
create table refusals (
  org_id text collate "C" not null,
  code text not null,
  since timestamptz not null,
  count integer not null,
  primary key (since, org_id, code)
);

-- What operators have paused: 'intake', or 'engine <name>'. A row less is something that runs again.
create table switches (
  name text primary key,
  -- draining: paused until what runs has ended, for maintenance.
  state text not null check (state in ('paused', 'draining')),
  since timestamptz not null,
  -- `<user>@<host>`
  changed_by text not null
);
