-- What each organization stores, written by triggers, so that no writer can leave it out. A row is a difference: writers only add rows, so that
-- none waits for another, and a sweep merges them. The sum of an organization's rows is what it stores.
create table stored_bytes (
  org_id text collate "C" not null,
  kind text not null check (kind in ('files', 'videos', 'responses')),
  bytes bigint not null
);
create index stored_bytes_by_org on stored_bytes (org_id);
alter table stored_bytes set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- What is stored of a response beside its items: body, request, and the events of a background response. Null in rows of version 0.1.0.
alter table responses add column other_bytes bigint;

-- What counts of a row, for the triggers and the audit. 4096 are for rows and their entries in indexes.
create function file_bytes(size_bytes integer, engine_copy jsonb) returns bigint language sql immutable as $$
  select 4096::bigint + size_bytes + coalesce((engine_copy->>'size_bytes')::bigint, 0)
$$;
create function video_bytes(prompt text, output bigint, thumbnail integer, spritesheet integer) returns bigint language sql immutable as $$
  select 4096::bigint + octet_length(prompt) + coalesce(output, 0) + coalesce(thumbnail, 0) + coalesce(spritesheet, 0)
$$;
create function response_bytes(items bigint, other bigint) returns bigint language sql immutable as $$
  select 4096 + items + coalesce(other, 0)
$$;

-- Of many rows in one statement one sum is made.
create function count_files() returns trigger language plpgsql as $$
begin
  insert into stored_bytes
  select org_id, 'files', (case tg_op when 'INSERT' then 1 else -1 end * sum(file_bytes(size_bytes, engine_copy)))::bigint
  from changed group by org_id;
  return null;
end $$;
create trigger files_added after insert on files referencing new table as changed
  for each statement execute function count_files();
create trigger files_removed after delete on files referencing old table as changed
  for each statement execute function count_files();

create function count_videos() returns trigger language plpgsql as $$
begin
  insert into stored_bytes
  select org_id, 'videos', (case tg_op when 'INSERT' then 1 else -1 end
    * sum(video_bytes(prompt, output_size_bytes, thumbnail_size_bytes, spritesheet_size_bytes)))::bigint
  from changed group by org_id;
  return null;
end $$;
create trigger videos_added after insert on video_jobs referencing new table as changed
  for each statement execute function count_videos();
create trigger videos_removed after delete on video_jobs referencing old table as changed
  for each statement execute function count_videos();

create function count_responses() returns trigger language plpgsql as $$
begin
  insert into stored_bytes
  select org_id, 'responses', (case tg_op when 'INSERT' then 1 else -1 end * sum(response_bytes(size_bytes, other_bytes)))::bigint
  from changed group by org_id;
  return null;
end $$;
create trigger responses_added after insert on responses referencing new table as changed
  for each statement execute function count_responses();
create trigger responses_removed after delete on responses referencing old table as changed
  for each statement execute function count_responses();

-- Files are never updated. Most updates of jobs and responses renew leases: they compare the sizes, and no more.
create function count_grown_video() returns trigger language plpgsql as $$
begin
  insert into stored_bytes values (new.org_id, 'videos',
    video_bytes(new.prompt, new.output_size_bytes, new.thumbnail_size_bytes, new.spritesheet_size_bytes)
    - video_bytes(old.prompt, old.output_size_bytes, old.thumbnail_size_bytes, old.spritesheet_size_bytes));
  return null;
end $$;
create trigger video_grown after update on video_jobs for each row
  when ((old.output_size_bytes, old.thumbnail_size_bytes, old.spritesheet_size_bytes)
    is distinct from (new.output_size_bytes, new.thumbnail_size_bytes, new.spritesheet_size_bytes))
  execute function count_grown_video();
create function count_grown_response() returns trigger language plpgsql as $$
begin
  insert into stored_bytes values (new.org_id, 'responses',
    response_bytes(new.size_bytes, new.other_bytes) - response_bytes(old.size_bytes, old.other_bytes));
  return null;
end $$;
create trigger response_grown after update on responses for each row
  when ((old.size_bytes, old.other_bytes) is distinct from (new.size_bytes, new.other_bytes))
  execute function count_grown_response();

-- What is stored already: nothing changes meanwhile, since whoever creates a trigger locks its table against writers until the commit. Nobody
-- waits for that, for version 0.1.0 cannot serve beside this schema since 0002.
insert into stored_bytes select org_id, 'files', sum(file_bytes(size_bytes, engine_copy)) from files group by org_id;
insert into stored_bytes
select org_id, 'videos', sum(video_bytes(prompt, output_size_bytes, thumbnail_size_bytes, spritesheet_size_bytes)) from video_jobs group by org_id;
insert into stored_bytes select org_id, 'responses', sum(response_bytes(size_bytes, other_bytes)) from responses group by org_id;
