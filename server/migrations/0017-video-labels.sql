-- What people call a video and how they sort it: of its organization, and changed by whoever may see it. Beside the row of the job, which is
-- the queue. Nothing is kept of a video without either.
create table video_labels (
  job_id text collate "C" primary key references video_jobs (id) on delete cascade,
  org_id text collate "C" not null,
  name text not null check (char_length(name) <= 200),
  tags text[] not null check (cardinality(tags) <= 20)
);
create index video_labels_of_org on video_labels (org_id, job_id);

-- Each of one person.
create table video_favorites (
  job_id text collate "C" not null references video_jobs (id) on delete cascade,
  org_id text collate "C" not null,
  user_id text collate "C" not null,
  primary key (job_id, user_id)
);
create index video_favorites_of_person on video_favorites (org_id, user_id, job_id);
