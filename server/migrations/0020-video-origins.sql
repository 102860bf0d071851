-- The job whose request, or last frame, this one was made from in the console; it may be gone since.
alter table video_jobs add column made_from text collate "C";
