-- Links that show one clip to whoever holds them, without an account. They end with the clip.
create table share_links (
  id text collate "C" primary key,
  org_id text collate "C" not null,
  video_id text collate "C" not null references video_jobs (id) on delete cascade,
  -- SHA-256 of the token, as hex: the token is in the hands of those it was given to, and nowhere here.
  token_sha256 text collate "C" not null unique,
  -- Its last four characters, by which people distinguish links.
  hint text not null,
  download boolean not null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index share_links_of_video on share_links (video_id, id);
create index share_links_expired on share_links (expires_at);
