-- Read only by what asks when leases end. While it was an index of all rows under a claim, the renewal of leases was served from it: it was
-- taken to be small, but while a snapshot is held open it has an entry of every job since then.
create index video_jobs_leases on video_jobs (claimed_until) where claimed_until is not null;
create index responses_leases on responses (claimed_until) where claimed_until is not null;
-- Last: from here on the version before, which still runs, can read neither table until the commit.
drop index video_jobs_claimed;
drop index responses_claimed;
