-- The verdict on a finished clip, recorded with the transaction that completes or fails its job.
alter table moderation_records drop constraint moderation_records_stage_check;
alter table moderation_records add constraint moderation_records_stage_check check (stage in ('prompt', 'translation', 'output'));
