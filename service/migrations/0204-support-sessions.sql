-- Support sessions: an impersonation opens the console of the partner, by a code that works once.
-- Why: staff saw the answers of the API, and not the pages about which a partner asks.
-- Processes of the version before may run: they do not read this table.
-- Locks: none on existing data; everything here is new.

create table access.support_sessions (
  partner_id uuid not null references access.partners (id),
  -- the service account of the impersonation, whose end is the end of the session.
  id uuid not null,
  reason text not null,
  -- SHA-256 of the code that opens the console. Null once it was used.
  code_hash bytea check (octet_length(code_hash) = 32),
  code_expires_at timestamptz not null,
  -- SHA-256 of the token of the session. Null until the code is used.
  token_hash bytea check (octet_length(token_hash) = 32),
  created_at timestamptz not null,
  primary key (partner_id, id),
  foreign key (partner_id, id) references access.service_accounts (partner_id, id),
  check ((code_hash is null) = (token_hash is not null))
);
select public.shard('access.support_sessions');

create unique index support_sessions_by_code on access.support_sessions (partner_id, code_hash) where code_hash is not null;
create unique index support_sessions_by_token on access.support_sessions (partner_id, token_hash) where token_hash is not null;
