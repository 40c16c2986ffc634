-- Partners, their credentials, and the master keys under which values are sealed.
-- Locks: none, everything is new.

create schema access;

create table access.partners (
  id uuid primary key,
  name text not null check (char_length(name) between 1 and 140),
  created_at timestamptz not null
);
select public.replicate('access.partners');

-- Credentials: of service accounts, and of impersonations by staff.
create table access.service_accounts (
  partner_id uuid not null references access.partners (id), id uuid not null,
  name text not null, api_key text not null,
  api_secret_sealed bytea not null,
  public_key_pem text not null,
  permissions text[] not null,
  impersonated_by text, -- staff member of an impersonation, which has an end.
  expires_at timestamptz, revoked_at timestamptz,
  created_at timestamptz not null,
  last_used_at timestamptz, -- at most a minute late: it is written after the request, outside its transaction.
  replaces uuid, -- in a rotation, the credential before.
  allowed_addresses text[] not null default '{}', -- addresses and networks (CIDR). Empty: any address.
  issued_by uuid, issued_by_name text, -- null: the operator. A key that a key made has the maker of that one.
  primary key (partner_id, id),
  unique (partner_id, api_key),
  check ((impersonated_by is null) or (expires_at is not null)),
  constraint service_accounts_issued_by_named check ((issued_by is null) = (issued_by_name is null))
);
select public.shard('access.service_accounts');

-- A nonce is used once by a service account. It is kept until its timestamp can no longer be accepted.
create table access.nonces (
  partner_id uuid not null,
  service_account_id uuid not null, nonce uuid not null,
  expires_at timestamptz not null,
  primary key (partner_id, service_account_id, nonce)
);
select public.shard('access.nonces');
create index nonces_expiry on access.nonces (partner_id, expires_at);

-- The first start that opens the database writes the row of its key, and every role compares its key before it listens.
create table access.master_keys (
  key_id text primary key, -- in hexadecimal digits; every sealed value has it.
  check_value bytea not null, -- derived from the key (HKDF-SHA-256), and reveals nothing about it.
  created_at timestamptz not null
);
select public.replicate('access.master_keys');

-- An impersonation opens the console of the partner, by a code that works once.
create table access.support_sessions (
  partner_id uuid not null references access.partners (id),
  id uuid not null, -- the service account of the impersonation: both end together.
  reason text not null,
  code_hash bytea check (octet_length(code_hash) = 32), -- SHA-256 of the code that opens the console. Null: it was used.
  code_expires_at timestamptz not null,
  token_hash bytea check (octet_length(token_hash) = 32), -- SHA-256 of the token of the session. Null: the code was not used.
  created_at timestamptz not null,
  primary key (partner_id, id),
  foreign key (partner_id, id) references access.service_accounts (partner_id, id),
  check ((code_hash is null) = (token_hash is not null))
);
select public.shard('access.support_sessions');
create unique index support_sessions_by_code on access.support_sessions (partner_id, code_hash) where code_hash is not null;
create unique index support_sessions_by_token on access.support_sessions (partner_id, token_hash) where token_hash is not null;

-- The legal name of a partner, if it differs from `partners.name`, and its owners.
create table access.partner_names (
  partner_id uuid not null references access.partners (id), id uuid not null,
  role text not null, -- legalName, owner1, owner2 ...
  name_sealed bytea not null, -- owners are persons.
  primary key (partner_id, id),
  unique (partner_id, role)
);
select public.shard('access.partner_names');
