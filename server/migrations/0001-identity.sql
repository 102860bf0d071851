-- People, organizations, console logins and API keys. The tables of the login library (decision 0002) come first; what it
-- names "account" is called logins here, because accounts hold money.

create table users (
  id text collate "C" primary key,
  name text not null,
  email text not null unique check (email = lower(email)),
  email_verified boolean not null default false,
  image text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table organizations (
  id text collate "C" primary key,
  name text not null,
  slug text not null unique,
  logo text,
  metadata text,
  -- A name among the plans of the configuration.
  plan text not null,
  created_at timestamptz not null
);

create table members (
  id text collate "C" primary key,
  org_id text collate "C" not null references organizations (id) on delete cascade,
  user_id text collate "C" not null references users (id) on delete cascade,
  role text not null check (role in ('owner', 'admin', 'member')),
  created_at timestamptz not null,
  unique (org_id, user_id)
);
create index members_of_user on members (user_id);

-- How a person proves who they are: a password (scrypt), or later an identity provider.
create table logins (
  id text collate "C" primary key,
  user_id text collate "C" not null references users (id) on delete cascade,
  provider_id text not null,
  account_id text not null,
  password text,
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamptz,
  refresh_token_expires_at timestamptz,
  scope text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null,
  unique (provider_id, account_id)
);
create index logins_of_user on logins (user_id);

create table sessions (
  id text collate "C" primary key,
  -- SHA-256 of what the cookie carries, as hex.
  token text not null unique,
  user_id text collate "C" not null references users (id) on delete cascade,
  org_id text collate "C" references organizations (id) on delete cascade,
  ip_address text,
  user_agent text,
  created_at timestamptz not null default now(),
  -- The last use, to the minute: a session idle for 12 hours is over.
  updated_at timestamptz not null,
  -- The end of a session however much it is used.
  expires_at timestamptz not null
);
create index sessions_of_user on sessions (user_id);

create table verifications (
  id text collate "C" primary key,
  identifier text not null,
  value text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index verifications_by_identifier on verifications (identifier);

create table invitations (
  id text collate "C" primary key,
  org_id text collate "C" not null references organizations (id) on delete cascade,
  email text not null check (email = lower(email)),
  role text not null check (role in ('owner', 'admin', 'member')),
  status text not null default 'pending' check (status in ('pending', 'accepted', 'rejected', 'canceled')),
  inviter_id text collate "C" not null references users (id) on delete cascade,
  -- SHA-256 of the secret that was handed over. Null: made by the login library, accepted by signing in.
  token_hash bytea unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index invitations_of_org on invitations (org_id, id);
create unique index one_pending_invitation on invitations (org_id, email) where status = 'pending';

create table api_keys (
  id text collate "C" primary key,
  org_id text collate "C" not null references organizations (id) on delete cascade,
  user_id text collate "C" not null references users (id) on delete cascade,
  name text not null,
  -- SHA-256 of the whole key. The key itself is stored nowhere.
  key_hash bytea not null unique check (octet_length(key_hash) = 32),
  -- Prefix, dots and the last four characters: enough to tell keys apart.
  hint text not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index api_keys_of_org on api_keys (org_id, id) where revoked_at is null;

-- One row per sign-in that has not succeeded, by keyed hash of the email and of the address (IPv6: the /64).
create table login_attempts (
  id bigint generated always as identity primary key,
  account_hash text not null,
  address_hash text not null,
  at timestamptz not null
);
create index login_attempts_by_account on login_attempts (account_hash, at);
create index login_attempts_by_address on login_attempts (address_hash, at);
create index login_attempts_by_time on login_attempts (at);

-- Every process keeps callers in memory for a few seconds; these tell it at once when one may no longer call.
create function notify_identity() returns trigger language plpgsql as $$
begin
  perform pg_notify('kinora_identity', tg_argv[0] || ':' || (to_jsonb(old) ->> tg_argv[1]));
  return null;
end $$;
create trigger api_key_changed after delete or update of revoked_at on api_keys
  for each row execute function notify_identity('key', 'id');
create trigger session_changed after delete or update of org_id, token on sessions
  for each row execute function notify_identity('session', 'id');
create trigger member_changed after delete or update of role on members
  for each row execute function notify_identity('user', 'user_id');
create trigger plan_changed after update of plan on organizations
  for each row execute function notify_identity('org', 'id');
