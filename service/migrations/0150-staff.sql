-- Staff of the operator: accounts with a role, and the links by which people join.
-- Why: the operator's decisions recorded a typed name, so that one person could decide as two.
-- Processes of the version before may run: they know none of these tables.
-- Locks: none on existing data; everything here is new.
create schema staff;

create table staff.accounts (
  id uuid primary key,
  email text not null,
  -- the address folded by the service.
  email_key text not null,
  full_name text not null,
  -- the name folded by the service: two accounts cannot pass for one person, nor one name for two.
  name_key text not null,
  role text not null check (role in ('support', 'compliance', 'finance', 'admin')),
  -- null: the operator's command.
  created_by uuid,
  created_at timestamptz not null,
  removed_at timestamptz
);
create unique index accounts_one_per_address on staff.accounts (email_key) where removed_at is null;
create unique index accounts_one_per_name on staff.accounts (name_key) where removed_at is null;
select public.replicate('staff.accounts');

-- An account has the id of the invitation that was accepted.
create table staff.invitations (
  id uuid primary key,
  email text not null,
  full_name text not null,
  role text not null check (role in ('support', 'compliance', 'finance', 'admin')),
  -- SHA-256 of the token, which is in the link only.
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  accepted_at timestamptz
);
select public.replicate('staff.invitations');
