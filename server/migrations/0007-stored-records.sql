-- What outlives the job or response it is about counts as stored too: webhook events with their deliveries, and moderation records. Otherwise
-- whoever creates and deletes in a loop fills the disk.
alter table stored_bytes drop constraint stored_bytes_kind_check,
  add constraint stored_bytes_kind_check check (kind in ('files', 'videos', 'responses', 'records'));

-- How many deliveries were inserted with the event. An event of before this migration counts one.
alter table events add column deliveries integer not null default 1;

-- A delivery takes some 720 bytes with its entries in indexes, an event up to 440. A moderation record counts for the attempts of its job too.
create function event_bytes(deliveries integer) returns bigint language sql immutable as $$
  select 512 + 1024::bigint * deliveries
$$;
create function moderation_record_bytes() returns bigint language sql immutable as $$
  select 4096::bigint
$$;

create function count_events() returns trigger language plpgsql as $$
begin
  insert into stored_bytes
  select org_id, 'records', (case tg_op when 'INSERT' then 1 else -1 end * sum(event_bytes(deliveries)))::bigint
  from changed group by org_id;
  return null;
end $$;
create trigger events_added after insert on events referencing new table as changed
  for each statement execute function count_events();
create trigger events_removed after delete on events referencing old table as changed
  for each statement execute function count_events();

create function count_moderation_records() returns trigger language plpgsql as $$
begin
  insert into stored_bytes
  select org_id, 'records', case tg_op when 'INSERT' then 1 else -1 end * count(*) * moderation_record_bytes()
  from changed group by org_id;
  return null;
end $$;
create trigger moderation_records_added after insert on moderation_records referencing new table as changed
  for each statement execute function count_moderation_records();
create trigger moderation_records_removed after delete on moderation_records referencing old table as changed
  for each statement execute function count_moderation_records();

-- As in 0006: the locks of the triggers keep writers out until the commit.
insert into stored_bytes select org_id, 'records', sum(event_bytes(deliveries)) from events group by org_id;
insert into stored_bytes select org_id, 'records', count(*) * moderation_record_bytes() from moderation_records group by org_id;
