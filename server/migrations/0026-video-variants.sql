-- Thumbnail and spritesheet of a completed job, both or neither: made from its clip soon after it completed, or when one is first asked for.
-- The version before writes neither and still runs; what it sweeps away is made again.
alter table video_jobs
  add column thumbnail_key text,
  add column thumbnail_sha256 text,
  add column thumbnail_size_bytes integer,
  add column spritesheet_key text,
  add column spritesheet_sha256 text,
  add column spritesheet_size_bytes integer,
  add constraint video_jobs_variants check (
    num_nulls(thumbnail_key, thumbnail_sha256, thumbnail_size_bytes, spritesheet_key, spritesheet_sha256, spritesheet_size_bytes) in (0, 6)
    and (thumbnail_key is null or status = 'completed')) not valid;

-- For the sweep of orphans, which asks for hundreds of keys at a time.
create index video_jobs_thumbnail on video_jobs (thumbnail_key) where thumbnail_key is not null;
create index video_jobs_spritesheet on video_jobs (spritesheet_key) where spritesheet_key is not null;
