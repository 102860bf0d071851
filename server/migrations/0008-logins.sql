-- The second factor of a person and the identity provider's sign-ins under way.

alter table users add column two_factor_enabled boolean not null default false;

-- The login library's table, and one row a person. Secret and recovery codes are encrypted with a key derived from the service's secret.
create table two_factors (
  id text collate "C" primary key,
  user_id text collate "C" not null unique references users (id) on delete cascade,
  secret text not null,
  backup_codes text not null,
  -- False until a first code has shown that the person's device has the secret.
  verified boolean not null default false,
  failed_verification_count integer not null default 0,
  locked_until timestamptz
);

-- Codes that were tried, for as long as they could be good: none is taken twice. Keyed hashes.
create table two_factor_codes (
  user_id text collate "C" not null references users (id) on delete cascade,
  code_hash text not null,
  used_at timestamptz not null,
  primary key (user_id, code_hash)
);
create index two_factor_codes_by_time on two_factor_codes (used_at);

-- Sign-ins that have gone to the identity provider and not come back. Each is taken once.
create table oidc_sign_ins (
  -- SHA-256 of the state that went along.
  state_hash bytea primary key,
  nonce text not null,
  code_verifier text not null,
  created_at timestamptz not null
);
create index oidc_sign_ins_by_time on oidc_sign_ins (created_at);
