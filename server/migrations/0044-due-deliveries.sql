-- no transaction
-- The index on the due column that every queue has: its depth is read from it.
drop index concurrently if exists event_deliveries_due;
create index concurrently event_deliveries_due on event_deliveries (next_try_at) where state = 'pending' and claim_id is null;
