-- What was answered to the last attempts of a delivery. What was sent is the event, to a URL of `origin` at `sent_at`.
create table delivery_attempts (
  delivery_id text collate "C" not null references event_deliveries (id) on delete cascade,
  -- As `attempts` of the delivery counted them.
  number integer not null,
  org_id text collate "C" not null,
  sent_at timestamptz not null,
  origin text not null,
  status_code integer,
  error text,
  -- Some of the headers, and the beginning of the body; null without an answer.
  response_headers json,
  response_body text,
  primary key (delivery_id, number)
);

-- Counted as records, like the event: what an endpoint answers is up to its owner.
create function delivery_attempt_bytes(origin text, response_headers json, response_body text) returns bigint language sql immutable as $$
  select 256::bigint + octet_length(origin) + coalesce(octet_length(response_headers::text), 0) + coalesce(octet_length(response_body), 0)
$$;
create function count_delivery_attempts() returns trigger language plpgsql as $$
begin
  insert into stored_bytes
  select org_id, 'records',
    (case tg_op when 'INSERT' then 1 else -1 end * sum(delivery_attempt_bytes(origin, response_headers, response_body)))::bigint
  from changed group by org_id;
  return null;
end $$;
create trigger delivery_attempts_added after insert on delivery_attempts referencing new table as changed
  for each statement execute function count_delivery_attempts();
create trigger delivery_attempts_removed after delete on delivery_attempts referencing old table as changed
  for each statement execute function count_delivery_attempts();
