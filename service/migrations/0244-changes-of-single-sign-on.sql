-- A change of single sign-on waits for a second Admin where payouts of the partner wait for a second person.
-- Why: who chooses the provider chooses who is an Admin, and two such Admins pay and approve.
-- Processes of the version before may run: they carry out a change at once, as before.
-- Locks: none: the table is new.

-- The change that waits. A new one replaces it.
create table users.single_sign_on_changes (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  -- the request, without the secret of the client.
  settings jsonb not null,
  -- null: the secret before stays.
  client_secret_sealed bytea,
  proposed_by uuid not null,
  proposed_by_name text not null,
  proposed_at timestamptz not null,
  -- after it no Admin confirms the change.
  expires_at timestamptz not null,
  primary key (partner_id),
  check (expires_at > proposed_at)
);
select public.shard('users.single_sign_on_changes');
