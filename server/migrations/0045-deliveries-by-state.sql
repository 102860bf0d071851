-- no transaction
-- Lists of deliveries by state, and what is left to skip of a subscription.
drop index concurrently if exists event_deliveries_by_state;
create index concurrently event_deliveries_by_state on event_deliveries (subscription_id, state, event_id);
