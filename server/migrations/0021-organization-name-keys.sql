-- A new organization may not be called as another, whatever the case. Of those that are called so already the oldest has the key and the
-- others none: they keep their names.
alter table organizations add column name_key text;
update organizations set name_key = lower(name)
where not exists (
  select from organizations as older where lower(older.name) = lower(organizations.name) and older.id < organizations.id
);
create unique index organizations_name_key on organizations (name_key);
