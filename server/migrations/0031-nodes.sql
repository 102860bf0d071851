-- The nodes that run on this database: one row for each from its start to its stop. Whether one is alive is not read from here but from the
-- lock of its id, which a killed node loses with its connection.
create table nodes (
  id text collate "C" primary key,
  host_name text not null,
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
