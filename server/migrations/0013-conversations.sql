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
