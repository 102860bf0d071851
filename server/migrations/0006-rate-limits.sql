-- How far ahead of time each key has called. Unlogged: after a crash everybody begins afresh.
create unlogged table rate_limits (
  key_id text collate "C" primary key,
  -- Microseconds since the epoch at which the key has its whole allowance again.
  full_at bigint not null
);
