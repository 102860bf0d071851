-- no transaction

-- The newest job made from another one. The column never changes, so no change of a job writes to it.
drop index concurrently if exists video_jobs_of_origin;
create index concurrently video_jobs_of_origin on video_jobs (made_from, id) where made_from is not null;
