-- The categories of the deny list that a blocked prompt is in, for its owner. Null for any other job.
alter table video_jobs add column error_categories text[];
