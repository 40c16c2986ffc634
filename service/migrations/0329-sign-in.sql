-- Sign-in: how members of teams and staff prove who they are, and their sessions. Staff have rows of a realm in place of a partner.
-- Locks: none, everything is new.

create schema sign_in;

-- A password, and the authenticator app (RFC 6238) that goes with it.
create table sign_in.passwords (
  partner_id uuid not null,
  member_id uuid not null,
  hash text not null, -- PHC string of argon2id.
  totp_sealed bytea not null,
  totp_step bigint not null, -- of the last accepted code: a code is accepted once.
  failures integer not null check (failures >= 0), -- attempts since the last success. An attempt is counted before it is judged.
  blocked_until timestamptz,
  created_at timestamptz not null,
  primary key (partner_id, member_id)
);
select public.shard('sign_in.passwords');

create table sign_in.recovery_codes (
  partner_id uuid not null,
  member_id uuid not null,
  code_hash bytea not null check (octet_length(code_hash) = 32), -- SHA-256 of the member and the code, which has 78 random bits.
  used_at timestamptz,
  primary key (partner_id, member_id, code_hash)
);
select public.shard('sign_in.recovery_codes');

-- Web Authentication Level 3.
create table sign_in.passkeys (
  partner_id uuid not null, id uuid not null,
  member_id uuid not null,
  credential_id bytea not null,
  public_key bytea not null, -- COSE_Key (RFC 9052).
  counter bigint not null check (counter >= 0),
  transports text[] not null,
  backed_up boolean not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  primary key (partner_id, id),
  constraint passkeys_credential unique (partner_id, credential_id)
);
select public.shard('sign_in.passkeys');
create index passkeys_by_member on sign_in.passkeys (partner_id, member_id);

-- Until they would have expired: a challenge is answered once.
create table sign_in.answered_challenges (
  partner_id uuid not null,
  challenge bytea not null,
  expires_at timestamptz not null,
  primary key (partner_id, challenge)
);
select public.shard('sign_in.answered_challenges');
create index answered_challenges_by_expiry on sign_in.answered_challenges (partner_id, expires_at);

create table sign_in.sessions (
  partner_id uuid not null, id uuid not null,
  member_id uuid not null,
  token_hash bytea not null check (octet_length(token_hash) = 32), -- SHA-256 of the token, which is in the cookie only.
  factor text not null check (factor in ('passkey', 'password', 'sso')),
  ip text not null, user_agent text not null,
  created_at timestamptz not null, last_used_at timestamptz not null, expires_at timestamptz not null,
  -- idle for more than five minutes: its person signs in again before a page shows money (Regulation (EU) 2018/389, Art. 4(3)(d)).
  rested boolean not null default false,
  primary key (partner_id, id),
  constraint sessions_token unique (partner_id, token_hash)
);
select public.shard('sign_in.sessions');
create index sessions_by_member on sign_in.sessions (partner_id, member_id);

-- A person at a provider. The identity of a removed member stays, so that it opens no new account.
create table sign_in.identities (
  partner_id uuid not null,
  issuer text not null,
  subject text not null, -- the claim `sub`: the only one that stays the same for a person.
  member_id uuid not null,
  connected_at timestamptz not null, last_used_at timestamptz,
  primary key (partner_id, issuer, subject)
);
select public.shard('sign_in.identities');
create index identities_by_member on sign_in.identities (partner_id, member_id);

-- A person gets a mail when a device signs in for the first time.
create table sign_in.known_devices (
  partner_id uuid not null,
  member_id uuid not null,
  -- SHA-256 of the member and the 256 random bits of the cookie: two accounts of one browser differ.
  device_hash bytea not null check (octet_length(device_hash) = 32),
  first_used_at timestamptz not null, last_used_at timestamptz not null,
  primary key (partner_id, member_id, device_hash)
);
select public.shard('sign_in.known_devices');
