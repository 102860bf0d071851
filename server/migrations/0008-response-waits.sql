-- How often a background response has been put off because its engine, or the storage, was away: the pause before the next run grows with it.
alter table responses add column waits integer not null default 0;
