-- Names of organizations are unique, so that one stands for one on the command line. Of several with a name the oldest keeps it; the others
-- get their id behind it. No index entry can hold a name of thousands of bytes: it is cut.
update organizations set name = left(name, 200) where octet_length(name) > 2000;
do $$
begin
  loop
    update organizations set name = name || ' (' || id || ')'
    where exists (
      select from organizations as older where older.name = organizations.name and older.id < organizations.id
    );
    exit when not found;
  end loop;
end
$$;
create unique index organizations_name on organizations (name);
