-- Money is bigint in units of 10^-8 of the currency.

create table accounts (
  org_id text collate "C" primary key,
  -- The sum of the organization's ledger entries. May fall below zero: chat is charged after the fact, and a due charge is never refused.
  balance bigint not null default 0,
  -- The sum of the quotes of its video jobs that have not ended.
  held bigint not null default 0 check (held >= 0),
  -- The number of those jobs.
  running integer not null default 0 check (running >= 0)
);

create table holds (
  job_id text collate "C" primary key,
  org_id text collate "C" not null references accounts (org_id),
  amount bigint not null check (amount >= 0),
  state text not null default 'placed' check (state in ('placed', 'captured', 'released')),
  placed_at timestamptz not null,
  settled_at timestamptz,
  check ((state = 'placed') = (settled_at is null))
);
create index holds_placed on holds (org_id) where state = 'placed';

create table ledger_entries (
  id text collate "C" primary key,
  org_id text collate "C" not null references accounts (org_id),
  kind text not null check (kind in ('grant', 'charge')),
  -- Positive adds to the balance.
  amount bigint not null,
  -- No foreign key: an entry outlives the job it paid for.
  job_id text collate "C",
  user_id text collate "C",
  key_id text collate "C",
  request_id text,
  model text,
  seconds integer,
  note text,
  created_at timestamptz not null,
  check (kind <> 'charge' or (amount <= 0 and model is not null)),
  check (kind <> 'grant' or note is not null)
);
create index ledger_entries_of_org on ledger_entries (org_id, id);
create unique index one_charge_per_job on ledger_entries (job_id) where kind = 'charge' and job_id is not null;

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;
create trigger ledger_is_append_only before update or delete on ledger_entries for each row execute function refuse_change();
create trigger ledger_is_never_emptied before truncate on ledger_entries for each statement execute function refuse_change();
