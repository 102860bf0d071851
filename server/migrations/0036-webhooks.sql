-- Where the events of a subscription are sent. What it listens to, and whether it is on, is in the subscription of the same id.
create table webhook_endpoints (
  id text collate "C" primary key references event_subscriptions (id) on delete cascade,
  org_id text collate "C" not null references organizations (id),
  name text not null,
  url text not null,
  -- Encrypted with the secret of the service.
  secret text not null,
  secret_hint text not null,
  previous_secret text,
  previous_secret_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Why it is off: by a person, because it answered 410, or because it failed for days.
  disabled_reason text check (disabled_reason in ('owner', 'gone', 'failing')),
  -- The first attempt that failed since the last one that succeeded.
  failing_since timestamptz,
  check ((previous_secret is null) = (previous_secret_until is null))
);
create index webhook_endpoints_of_org on webhook_endpoints (org_id, id);
