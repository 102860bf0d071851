-- Changes of state that webhooks report, written in the transaction that made them, for the subscriptions there are at that moment.

create table event_subscriptions (
  id text collate "C" primary key,
  org_id text collate "C" not null references organizations (id),
  event_types text[] not null,
  -- `balance.low` is recorded when the balance falls to this or below; in units of 10^-8.
  low_balance bigint not null check (low_balance >= 0),
  -- While it is off, events are recorded but not sent.
  enabled boolean not null default true,
  -- Since when it has had these event types and been there at all.
  since timestamptz not null
);
create index event_subscriptions_of_org on event_subscriptions (org_id);

create table events (
  id text collate "C" primary key,
  org_id text collate "C" not null,
  type text not null,
  -- The id of the job, response or organization it is about. No foreign key: an event outlives what it is about.
  subject_id text not null,
  created_at timestamptz not null
);
create index events_by_age on events (created_at);

-- One for each event and subscription. The row is the queue: it says when it is due and whose lease it is under.
create table event_deliveries (
  -- `<event_id>/<subscription_id>`
  id text collate "C" primary key,
  event_id text collate "C" not null references events (id) on delete cascade,
  -- No foreign key: what is left of a deleted subscription goes in batches.
  subscription_id text collate "C" not null,
  org_id text collate "C" not null,
  state text not null check (state in ('pending', 'delivered', 'failed', 'skipped')),
  -- Attempts in all, and those of the present schedule.
  attempts integer not null default 0,
  tries integer not null default 0,
  -- When it is next sent; meaningless unless pending.
  next_try_at timestamptz not null,
  last_try_at timestamptz,
  status_code integer,
  error text,
  claim_id text,
  claimed_until timestamptz,
  check ((claim_id is null) = (claimed_until is null))
);
create unique index event_deliveries_of_subscription on event_deliveries (subscription_id, event_id);
create index event_deliveries_of_event on event_deliveries (event_id);
create index event_deliveries_ready on event_deliveries (subscription_id, next_try_at) where state = 'pending' and claim_id is null;
create index event_deliveries_leases on event_deliveries (claimed_until) where claimed_until is not null;
alter table event_deliveries set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05);
