-- no transaction

-- The responses of each organization that are to be run in the background, by due time: a claim takes some of each.
drop index concurrently if exists responses_waiting;
create index concurrently responses_waiting on responses (org_id, next_run_at) where finished_at is null and claim_id is null;
