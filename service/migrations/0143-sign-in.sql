-- People of a partner's team who sign in: members, how they prove who they are, their sessions.
-- Why: an invitation could be mailed and not accepted.
-- Processes of the version before may run: they know none of these tables and accept no invitation.
-- Locks: none on existing data; everything here is new.

-- A member has the id of the invitation that was accepted.
create table users.members (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  email text not null,
  -- the address folded by the service, as in users.invitations.
  email_key text not null,
  full_name text not null,
  role text not null check (role in ('Admin', 'Developer', 'Operator')),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  last_sign_in_at timestamptz,
  removed_at timestamptz,
  primary key (partner_id, id)
);
create unique index members_one_per_address on users.members (partner_id, email_key) where removed_at is null;
-- The partners of an address.
create index members_by_address on users.members (email_key) where removed_at is null;
select public.shard('users.members');

create schema sign_in;

-- A password and the authenticator app (RFC 6238) that goes with it.
create table sign_in.passwords (
  partner_id uuid not null,
  member_id uuid not null,
  -- PHC string of argon2id.
  hash text not null,
  totp_sealed bytea not null,
  -- the time step of the last accepted code: a code is accepted once.
  totp_step bigint not null,
  -- attempts since the last success. An attempt is counted before it is judged.
  failures integer not null check (failures >= 0),
  blocked_until timestamptz,
  created_at timestamptz not null,
  primary key (partner_id, member_id)
);
select public.shard('sign_in.passwords');

create table sign_in.recovery_codes (
  partner_id uuid not null,
  member_id uuid not null,
  -- SHA-256 of the member and the code, which has 78 random bits.
  code_hash bytea not null check (octet_length(code_hash) = 32),
  used_at timestamptz,
  primary key (partner_id, member_id, code_hash)
);
select public.shard('sign_in.recovery_codes');

-- Passkeys (Web Authentication Level 3).
create table sign_in.passkeys (
  partner_id uuid not null,
  id uuid not null,
  member_id uuid not null,
  credential_id bytea not null,
  -- COSE_Key (RFC 9052).
  public_key bytea not null,
  counter bigint not null check (counter >= 0),
  transports text[] not null,
  backed_up boolean not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  primary key (partner_id, id),
  constraint passkeys_credential unique (partner_id, credential_id)
);
create index passkeys_by_member on sign_in.passkeys (partner_id, member_id);
select public.shard('sign_in.passkeys');

-- Challenges that were answered, until they would have expired: a challenge is answered once.
create table sign_in.answered_challenges (
  partner_id uuid not null,
  challenge bytea not null,
  expires_at timestamptz not null,
  primary key (partner_id, challenge)
);
create index answered_challenges_by_expiry on sign_in.answered_challenges (partner_id, expires_at);
select public.shard('sign_in.answered_challenges');

create table sign_in.sessions (
  partner_id uuid not null,
  id uuid not null,
  member_id uuid not null,
  -- SHA-256 of the token, which is in the cookie only.
  token_hash bytea not null check (octet_length(token_hash) = 32),
  factor text not null check (factor in ('passkey', 'password')),
  ip text not null,
  user_agent text not null,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (partner_id, id),
  constraint sessions_token unique (partner_id, token_hash)
);
create index sessions_by_member on sign_in.sessions (partner_id, member_id);
select public.shard('sign_in.sessions');
