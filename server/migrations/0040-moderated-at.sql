-- When moderation allowed the job. The times of the other stages are columns already; a job of an earlier version keeps null.
alter table video_jobs add column moderated_at timestamptz;
