-- A webhook endpoint says itself what it listens to; `event_subscriptions` was a second row for each of the same id.
alter table webhook_endpoints
  add column event_types text[],
  -- `balance.low` is recorded when the balance falls to this or below; in units of 10^-8.
  add column low_balance bigint check (low_balance >= 0),
  -- When it was created, or was last given other event types.
  add column listens_since timestamptz;
update webhook_endpoints w set event_types = s.event_types, low_balance = s.low_balance, listens_since = s.since
  from event_subscriptions s where s.id = w.id;
alter table webhook_endpoints
  alter column event_types set not null,
  alter column low_balance set not null,
  alter column listens_since set not null,
  drop constraint webhook_endpoints_id_fkey;
drop table event_subscriptions;

-- No foreign key: the deliveries of a deleted endpoint are deleted in batches. An id is `<event_id>/<endpoint_id>`.
alter table event_deliveries rename column subscription_id to endpoint_id;
alter index event_deliveries_of_subscription rename to event_deliveries_of_endpoint;
