-- When each periodic duty last ended, by the database's clock: of all processes on this database one runs it, once an interval.
create table sweeps (name text primary key, ended_at timestamptz not null);

-- Workers that have announced themselves. Each holds a shared advisory lock named after its id over the connection it listens on, so that a
-- killed one is known at once. Not logged: after a crash of the server every worker connects, and announces itself, anew.
create unlogged table workers (id text primary key, missing_since timestamptz);
