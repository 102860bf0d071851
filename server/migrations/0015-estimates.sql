-- no transaction

-- The last renders of a model at a length and size, for what a submission is told about its duration. None of these columns changes after the end.
drop index concurrently if exists video_jobs_completed;
create index concurrently video_jobs_completed on video_jobs (model, seconds, aspect_ratio, completed_at) where completed_at is not null;
