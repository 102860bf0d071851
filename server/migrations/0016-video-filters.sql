-- no transaction

-- Lists of what one person has submitted. Neither column changes, so no change of a job writes to it.
drop index concurrently if exists video_jobs_of_person;
create index concurrently video_jobs_of_person on video_jobs (org_id, user_id, id);
