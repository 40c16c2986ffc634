-- Staff of the operator: accounts with roles, the sign-in of commands, changes that wait for a second person, and owners of work.
-- Locks: none, everything is new.

create schema staff;

create table staff.accounts (
  id uuid primary key,
  email text not null,
  email_key text not null, -- the address folded by the service.
  full_name text not null,
  name_key text not null, -- the name folded by the service: no two accounts pass for one person.
  role text not null check (role in ('support', 'compliance', 'finance', 'admin')),
  created_by uuid, -- null: the operator's command.
  created_at timestamptz not null,
  removed_at timestamptz
);
select public.replicate('staff.accounts');
create unique index accounts_one_per_address on staff.accounts (email_key) where removed_at is null;
create unique index accounts_one_per_name on staff.accounts (name_key) where removed_at is null;

-- An account has the id of the accepted invitation.
create table staff.invitations (
  id uuid primary key,
  email text not null, full_name text not null, role text not null check (role in ('support', 'compliance', 'finance', 'admin')),
  token_hash bytea not null unique check (octet_length(token_hash) = 32), -- SHA-256 of the token, which is in the link only.
  created_at timestamptz not null, expires_at timestamptz not null,
  accepted_at timestamptz
);
select public.replicate('staff.invitations');

create table staff.command_tokens (
  id uuid primary key,
  token_hash bytea not null unique check (octet_length(token_hash) = 32), -- SHA-256 of the token in the file of its holder.
  -- SHA-256 of the code that a person types at the desk. Null: a token for a schedule.
  user_code_hash bytea unique check (octet_length(user_code_hash) = 32),
  origin text not null, -- user and host that asked.
  staff_id uuid, -- null: not confirmed.
  commands text[], -- null: each command of the person's role.
  requested_at timestamptz not null, confirm_before timestamptz not null,
  confirmed_at timestamptz, expires_at timestamptz, ended_at timestamptz,
  check ((staff_id is null) = (confirmed_at is null) and (staff_id is null) = (expires_at is null))
);
select public.replicate('staff.command_tokens');

create table staff.changes (
  id uuid primary key,
  command text not null,
  options jsonb not null, -- as typed.
  proposed_by uuid not null, proposed_by_name text not null, proposed_at timestamptz not null,
  expires_at timestamptz not null,
  decided_by uuid, decided_by_name text, -- the second person, or for a withdrawal the first one.
  decided_at timestamptz,
  approved boolean,
  reason text,
  done_at timestamptz, -- when it was carried out.
  check ((decided_by is null) = (decided_at is null) and (decided_by is null) = (approved is null)),
  check (done_at is null or approved)
);
select public.replicate('staff.changes');
create index changes_waiting on staff.changes (proposed_at) where done_at is null and approved is not false;

-- Owners and notes of what waits at the desk besides cases.
create table staff.assignments (
  partner_id uuid not null references access.partners (id), -- the operator's own partner, if the subject belongs to none.
  id uuid not null,
  kind text not null check (kind in ('hit', 'payout', 'deposit', 'pool', 'connector', 'change', 'review')),
  subject text not null, -- id or name.
  owner_id uuid, owner_name text, owned_since timestamptz, -- as in cases.cases.
  last_note text,
  opened_at timestamptz not null,
  ended_at timestamptz, -- when it no longer waited. If it waits again, it has a new row.
  primary key (partner_id, id),
  constraint assignments_owner_check check ((owner_id is null) = (owner_name is null) and (owner_id is null) = (owned_since is null))
);
select public.shard('staff.assignments');
create unique index assignments_open on staff.assignments (partner_id, kind, subject) where ended_at is null;
create index assignments_owned on staff.assignments (owner_id, opened_at, id) where ended_at is null and owner_id is not null;
create index assignments_by_id on staff.assignments (id) where ended_at is null; -- The job that ends them reads all that are open.

-- Rows are only added.
create table staff.assignment_steps (
  partner_id uuid not null,
  assignment_id uuid not null,
  sequence integer not null,
  kind text not null check (kind in ('taken', 'given', 'handed_back', 'remarked', 'ended')),
  actor text not null, note text not null,
  at timestamptz not null,
  primary key (partner_id, assignment_id, sequence),
  foreign key (partner_id, assignment_id) references staff.assignments (partner_id, id)
);
select public.shard('staff.assignment_steps');
