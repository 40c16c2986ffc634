-- Recoveries: a member who has lost the last way to sign in gets a link to set a new one.
-- Why: a removal and a new invitation was the only way back, and a partner whose last Admin was locked out had none.
-- Processes of the version before may run: they do not read this table.
-- Locks: none on existing data; everything here is new.

create table users.recoveries (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  member_id uuid not null,
  status text not null check (status in ('Waiting', 'Open', 'Used', 'Cancelled')),
  -- whether staff of the operator began it, and not an Admin of the team.
  by_staff boolean not null,
  begun_by_name text not null,
  reason text not null,
  -- the end of the cooling-off.
  due_at timestamptz,
  -- SHA-256 of the token of the link, once the link was mailed.
  token_hash bytea check (octet_length(token_hash) = 32),
  expires_at timestamptz,
  -- SHA-256 of the token by which an Admin cancels it.
  cancel_hash bytea check (octet_length(cancel_hash) = 32),
  -- why it was cancelled.
  ended_because text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (partner_id, id),
  check (status <> 'Waiting' or (by_staff and due_at is not null and cancel_hash is not null)),
  check (status <> 'Open' or (token_hash is not null and expires_at is not null)),
  check ((status = 'Cancelled') = (ended_because is not null))
);
select public.shard('users.recoveries');

-- A member has one recovery at a time.
create unique index recoveries_live on users.recoveries (partner_id, member_id) where status in ('Waiting', 'Open');
create unique index recoveries_by_token on users.recoveries (partner_id, token_hash) where token_hash is not null;
create unique index recoveries_by_cancel on users.recoveries (partner_id, cancel_hash) where cancel_hash is not null;
create index recoveries_due on users.recoveries (due_at) where status = 'Waiting';
