-- What the blocks of accounts have left to cancel: payouts that are not begun.
-- Why: the operator's command cancelled them after the commit of the block. A crash in between left them until a person repeated the
-- command. Now the block writes a row here, and a worker ends what the command has not.
-- Processes of the version before may run: their blocks write no row, so that a crash of theirs needs the command again.
-- Locks: none on tables that are there, but for partners, to which writes wait for an instant while the foreign key is added.
create table accounts.cancellations (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  -- of the account of a customer; null: of a balance.
  customer_id uuid,
  -- of a balance; null: of the account of a customer.
  currency text,
  blocked_at timestamptz not null,
  -- before that time the command or the worker that has the lease works on it.
  due_at timestamptz not null,
  primary key (partner_id, id),
  unique (partner_id, currency),
  unique (partner_id, customer_id),
  check ((customer_id is null) <> (currency is null))
);
select public.shard('accounts.cancellations');
create index cancellations_due on accounts.cancellations (due_at, partner_id);
