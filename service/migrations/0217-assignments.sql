-- Owners and notes of what waits at the desk besides cases: hits, payouts, deposits, pools of IBANs, connectors.
-- Why: a case said who looks into it and what was found out, and nothing else in the queue did.
-- Processes of the version before may run: they do not use the tables.
-- Locks: writes to partners wait for an instant while the foreign key is added.
create table staff.assignments (
  -- the operator's own partner where the thing belongs to no partner.
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  kind text not null check (kind in ('hit', 'payout', 'deposit', 'pool', 'connector')),
  -- the id of the thing, or its name.
  subject text not null,
  -- an account of staff. Its name stands beside it, because the account may be removed.
  owner_id uuid,
  owner_name text,
  owned_since timestamptz,
  last_note text,
  opened_at timestamptz not null,
  -- when the thing no longer waited. If it waits again, it has a new row.
  ended_at timestamptz,
  primary key (partner_id, id),
  constraint assignments_owner_check
    check ((owner_id is null) = (owner_name is null) and (owner_id is null) = (owned_since is null))
);
create unique index assignments_open on staff.assignments (partner_id, kind, subject) where ended_at is null;
create index assignments_owned on staff.assignments (owner_id, opened_at, id) where ended_at is null and owner_id is not null;
-- the job that ends them reads all that are open.
create index assignments_by_id on staff.assignments (id) where ended_at is null;
select public.shard('staff.assignments');

-- What was done: rows are only added.
create table staff.assignment_steps (
  partner_id uuid not null,
  assignment_id uuid not null,
  sequence integer not null,
  kind text not null check (kind in ('taken', 'given', 'handed_back', 'remarked', 'ended')),
  actor text not null,
  note text not null,
  at timestamptz not null,
  primary key (partner_id, assignment_id, sequence),
  foreign key (partner_id, assignment_id) references staff.assignments (partner_id, id)
);
select public.shard('staff.assignment_steps');
