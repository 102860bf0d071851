-- The jobs after the first one, where one request created several: a repeated request is answered with all of them.
alter table video_idempotency add column other_job_ids text[] collate "C";
