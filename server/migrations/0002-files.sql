-- Uploads. Bytes live in the blob store under blob_key; the row is what makes them a file.
create table files (
  id text collate "C" primary key,
  org_id text not null,
  user_id text not null,
  purpose text not null check (purpose in
    ('vision', 'video', 'audio', 'user_data', 'assistants', 'batch', 'fine-tune', 'evals')),
  filename text not null check (octet_length(filename) between 1 and 255),
  media_type text not null,
  size_bytes integer not null check (size_bytes between 1 and 100000000),
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  blob_key text not null unique,
  probe jsonb,
  created_at timestamptz not null,
  expires_at timestamptz not null check (expires_at > created_at and expires_at <= created_at + interval '30 days')
);

create index files_by_org on files (org_id, id);
create index files_by_purpose on files (org_id, purpose, id);
create index files_by_expiry on files (expires_at);

-- Files are immutable: what was checked once is what is used later.
create function files_are_immutable() returns trigger language plpgsql as $$
begin
  raise exception 'files are immutable';
end $$;
create trigger files_immutable before update on files for each row execute function files_are_immutable();
