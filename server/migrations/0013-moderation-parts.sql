-- Media of the submission that were let through although nothing could judge them: [{file_sha256, part}]. Files that were judged
-- whole stand in file_sha256s, and no others.
alter table moderation_records add column unjudged jsonb not null default '[]';

-- What was allowed so far of a submission that is still being judged, part by part: asked once, also across tries and restarts.
create table moderation_verdicts (
  job_id text collate "C" not null,
  org_id text collate "C" not null,
  -- Keyed with the service's secret: the part, what it was judged beside, and the engine that judged it.
  digest text not null,
  categories text[] not null,
  engine text not null,
  version text not null,
  created_at timestamptz not null,
  primary key (job_id, digest)
);
create index moderation_verdicts_age on moderation_verdicts (created_at);
