-- Conversations of the console, each of one person in one organization. Every answer is a stored response.
create table conversations (
  id text collate "C" primary key,
  org_id text collate "C" not null,
  user_id text collate "C" not null,
  title text not null,
  pinned boolean not null default false,
  -- Model, system prompt and parameters, as the chat page shows them.
  settings json not null,
  created_at timestamptz not null,
  -- When a message was last sent: 30 days later it is deleted, with its responses.
  used_at timestamptz not null
);
create index conversations_of_person on conversations (org_id, user_id, pinned, used_at, id);
create index conversations_used on conversations (used_at);

-- Which conversation a response is in. Their order and versions are the chains of the responses.
create table conversation_turns (
  response_id text collate "C" primary key references responses (id) on delete cascade,
  conversation_id text collate "C" not null references conversations (id) on delete cascade,
  -- Grows within a conversation: writers of turns lock its row first.
  position bigint generated always as identity,
  -- The beginning of what the person wrote, for searching.
  question text not null
);
create index conversation_turns_in_order on conversation_turns (conversation_id, position);

-- Counted beside the responses in it, as they are: 4096 and its texts.
create function conversation_bytes(title text, settings json) returns bigint language sql immutable as $$
  select 4096::bigint + octet_length(title) + octet_length(settings::text)
$$;
create function count_conversations() returns trigger language plpgsql as $$
begin
  insert into stored_bytes
  select org_id, 'responses', (case tg_op when 'INSERT' then 1 else -1 end * sum(conversation_bytes(title, settings)))::bigint
  from changed group by org_id;
  return null;
end $$;
create trigger conversations_added after insert on conversations referencing new table as changed
  for each statement execute function count_conversations();
create trigger conversations_removed after delete on conversations referencing old table as changed
  for each statement execute function count_conversations();
create function count_grown_conversation() returns trigger language plpgsql as $$
begin
  insert into stored_bytes values (new.org_id, 'responses',
    conversation_bytes(new.title, new.settings) - conversation_bytes(old.title, old.settings));
  return null;
end $$;
create trigger conversation_grown after update on conversations for each row
  when (conversation_bytes(old.title, old.settings) <> conversation_bytes(new.title, new.settings))
  execute function count_grown_conversation();
