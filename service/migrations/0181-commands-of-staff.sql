-- The sign-in of the operator's commands, and changes of rules that wait for a second person.
-- Why: commands recorded a typed name, so that one person with a shell could decide as two.
-- Processes of the version before may run: they know neither table.
-- Locks: none on existing data; everything here is new.
create table staff.command_tokens (
  id uuid primary key,
  -- SHA-256 of the token, which a file of its holder has.
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  -- SHA-256 of the code that a person types at the desk. null: a token for a schedule.
  user_code_hash bytea unique check (octet_length(user_code_hash) = 32),
  -- user and host that asked.
  origin text not null,
  -- null: no person has confirmed it.
  staff_id uuid,
  -- null: each command of the person's role.
  commands text[],
  requested_at timestamptz not null,
  confirm_before timestamptz not null,
  confirmed_at timestamptz,
  -- null: not confirmed.
  expires_at timestamptz,
  ended_at timestamptz,
  check ((staff_id is null) = (confirmed_at is null) and (staff_id is null) = (expires_at is null))
);
select public.replicate('staff.command_tokens');

create table staff.changes (
  id uuid primary key,
  command text not null,
  -- what was typed.
  options jsonb not null,
  proposed_by uuid not null,
  proposed_by_name text not null,
  proposed_at timestamptz not null,
  expires_at timestamptz not null,
  -- the second person, or for a withdrawal the first one.
  decided_by uuid,
  decided_by_name text,
  decided_at timestamptz,
  approved boolean,
  reason text,
  -- when it was carried out.
  done_at timestamptz,
  check ((decided_by is null) = (decided_at is null) and (decided_by is null) = (approved is null)),
  check (done_at is null or approved)
);
create index changes_waiting on staff.changes (proposed_at) where done_at is null and approved is not false;
select public.replicate('staff.changes');
