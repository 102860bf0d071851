-- no transaction

-- The bytes that video engines are sent in place of an upload, made when it is received: {blob_key, media_type, size_bytes, sha256}.
alter table files add column if not exists engine_copy jsonb;

-- Blobs are looked up by key before they are removed.
drop index concurrently if exists files_engine_copy;
create unique index concurrently files_engine_copy on files ((engine_copy->>'blob_key')) where engine_copy is not null;
