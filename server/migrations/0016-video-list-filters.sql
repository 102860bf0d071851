-- Pages of a list that is filtered by status or model. Jobs that have not ended are few, a plan bounds them, and their status moves: they
-- share one index without it. Those that have ended are written into theirs once.
create index video_jobs_open on video_jobs (org_id, id) where finished_at is null;
create index video_jobs_ended on video_jobs (org_id, status, id) where finished_at is not null;
create index video_jobs_ended_of_model on video_jobs (org_id, model, status, id) where finished_at is not null;
