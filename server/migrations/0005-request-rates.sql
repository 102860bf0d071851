-- How far ahead of time each person has called in an organization, with all of their keys and sessions, in place of each key. Unlogged: after
-- a crash of the server everybody has their full allowance. Version 0.1.0, which counted by key, cannot serve beside this schema since 0002.
create unlogged table request_rates (
  org_id text collate "C" not null,
  user_id text collate "C" not null,
  -- Microseconds since the epoch at which the person has their full allowance again.
  full_at bigint not null,
  primary key (org_id, user_id)
);
drop table rate_limits;
