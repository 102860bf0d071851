-- The lists of ended jobs are indexed by how a job ended, as told by columns that are set at its end alone: an index on the status itself
-- made every change of a job's status write to every index of the table.
drop index video_jobs_ended;
drop index video_jobs_ended_of_model;
create index video_jobs_ended on video_jobs
  (org_id, (case when completed_at is not null then 'completed' when error_code is not null then 'failed' else 'canceled' end), id)
  where finished_at is not null;
create index video_jobs_ended_of_model on video_jobs
  (org_id, model, (case when completed_at is not null then 'completed' when error_code is not null then 'failed' else 'canceled' end), id)
  where finished_at is not null;
