-- Files that submitted video jobs still need: deleted or expired, their bytes stay readable for the engine until the job has ended.
-- A row is what such a read needs to know, because the file's own row may be gone.
create table file_pins (
  -- The job.
  holder text collate "C" not null,
  file_id text collate "C" not null,
  org_id text collate "C" not null,
  filename text not null,
  media_type text not null,
  size_bytes integer not null,
  sha256 text not null,
  blob_key text not null,
  -- When the job ended, or its start was refused: nobody reads the file by this row any more, and a sweep takes it away.
  released_at timestamptz,
  primary key (holder, file_id)
);
create index file_pins_by_blob on file_pins (blob_key);
create index file_pins_released on file_pins (released_at) where released_at is not null;
