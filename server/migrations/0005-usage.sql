-- What a charge for chat was for. One row a request: the usage and its charge are the same row.
alter table ledger_entries
  add column input_tokens integer check (input_tokens >= 0),
  add column cached_input_tokens integer check (cached_input_tokens between 0 and input_tokens),
  add column output_tokens integer check (output_tokens >= 0),
  add column reasoning_tokens integer check (reasoning_tokens between 0 and output_tokens);

create unique index one_charge_per_request on ledger_entries (request_id) where kind = 'charge' and job_id is null;
