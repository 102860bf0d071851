-- Which installation this database is of. The files it belongs with carry the same id: a service starts only where the two agree.
create table installation (
  id text collate "C" primary key,
  -- One row at most.
  single boolean not null unique default true check (single),
  -- The id this one takes the place of: files that still carry that one are marked anew at the next start.
  moved_from text,
  -- Of the copy that was made of this database: whichever of the two is started first keeps the files.
  moved_to text,
  created_at timestamptz not null default now()
);
