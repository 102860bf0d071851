-- What operators, and people in the console, changed: who, when, what. Never updated; deleted by the retention sweep alone.
create table activity_entries (
  id text collate "C" primary key,
  created_at timestamptz not null,
  -- Null: it concerns the whole service. No foreign keys: entries outlive what they name.
  org_id text collate "C",
  actor jsonb not null,
  action text not null,
  target text,
  details jsonb not null
);
create index activity_of_organization on activity_entries (org_id, id);

create function refuse_activity_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('kinora.retention', true) = 'on' then return old; end if;
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;
create trigger activity_is_append_only before update or delete on activity_entries
  for each row execute function refuse_activity_change();
create trigger activity_is_never_emptied before truncate on activity_entries
  for each statement execute function refuse_activity_change();
