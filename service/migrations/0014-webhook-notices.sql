-- Notices: what a partner's Admins and Developers are told by mail of an endpoint that fails.
-- Why: written in the transaction that finds out, so that what commits is told, and told once to each.
-- Locks: none on existing data; everything here is new.

-- Everything the mail says is in the row: the subscription may be changed or gone by the time it is sent. No foreign key,
-- for the same reason.
create table webhooks.notices (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  subscription_id uuid not null,
  kind text not null check (kind in ('Failing24h', 'Failing72h', 'DisabledFailing', 'DisabledGone')),
  url text not null,
  failing_since timestamptz,
  last_error text,
  created_at timestamptz not null,
  -- null: nothing is left to send. While a worker sends, the end of its lease.
  mail_due_at timestamptz,
  mail_lease_id uuid,
  mail_attempts integer not null check (mail_attempts >= 0),
  -- the addresses that need no further attempt, folded: told, or refused for good.
  mail_done text[] not null,
  primary key (partner_id, id),
  check (mail_due_at is not null or mail_lease_id is null)
);
create index notices_due on webhooks.notices (mail_due_at) where mail_due_at is not null;
select public.shard('webhooks.notices');
