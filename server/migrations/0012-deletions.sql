-- Who may delete what others of the organization have made: 'all', or 'own' where members delete only what is theirs.
alter table organizations add column members_delete text not null default 'all' check (members_delete in ('own', 'all'));

-- A deletion leaves an entry in the log of activity, which outlives what was deleted: it counts as a record, since an upload costs nothing.
create function deletion_entry_bytes() returns bigint language sql immutable as $$
  select 1024::bigint
$$;
create function is_deletion(action text) returns boolean language sql immutable as $$
  select action in ('video.delete', 'file.delete')
$$;

create function count_deletion_entries() returns trigger language plpgsql as $$
begin
  insert into stored_bytes
  select org_id, 'records', case tg_op when 'INSERT' then 1 else -1 end * count(*) * deletion_entry_bytes()
  from changed where is_deletion(action) group by org_id;
  return null;
end $$;
create trigger deletion_entries_added after insert on activity_entries referencing new table as changed
  for each statement execute function count_deletion_entries();
create trigger deletion_entries_removed after delete on activity_entries referencing old table as changed
  for each statement execute function count_deletion_entries();
