-- Of a model with several engines, the one that an attempt was begun on. Null for a model with one, and for a job without an attempt.
alter table video_jobs add column engine text;
-- Counts the renders of an engine with a limit. Jobs of models with one engine are never in it.
create index video_jobs_of_engines on video_jobs (model, engine) where engine is not null and finished_at is null;
