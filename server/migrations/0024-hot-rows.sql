-- Tables are locked in the order in which the service locks them.

-- For lists alone, which name an organization. While it was an index of all open jobs, a claim was at times served from it, unordered.
drop index video_jobs_open;
create index video_jobs_open on video_jobs (org_id, id) where finished_at is null and org_id is not null;

-- While a snapshot is held open, an account that is charged all the time has thousands of dead versions, and every look at its row reads
-- them. A foreign key looked at it for each hold and each entry; the row of the organization says the same and rarely changes.
alter table holds drop constraint holds_org_id_fkey;
alter table holds add constraint holds_org_id_fkey foreign key (org_id) references organizations (id) not valid;
alter table ledger_entries drop constraint ledger_entries_org_id_fkey;
alter table ledger_entries add constraint ledger_entries_org_id_fkey foreign key (org_id) references organizations (id) not valid;

-- No query needs it, and PostgreSQL took it, small as it is, for the quickest way to a hold by its job. Without it a hold is settled without
-- touching an index.
drop index holds_placed;
