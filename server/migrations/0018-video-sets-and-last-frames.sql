-- The jobs after the first one, where one request created several: a repeated request is answered with all of them.
alter table video_idempotency add column other_job_ids text[] collate "C";

-- The file that the last frame of the clip became; it may be gone since.
alter table video_jobs add column last_frame_file_id text collate "C";
