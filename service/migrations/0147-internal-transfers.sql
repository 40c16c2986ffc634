-- Payouts to an account of this service: the connector `internal` credits the payee, then settles the payout, without a bank.
-- Why: a bank was asked to pay them, and the money arrived on no account (issue 28).
-- Processes of the version before may run: they do not know the connector, so that its payouts wait for a process of this version.
-- Locks: writes to partners wait for an instant while the foreign key is added.
create table rails.internal_transfers (
  partner_id uuid not null references access.partners (id),
  -- of the instruction.
  id uuid not null,
  customer_id uuid,
  end_to_end_id text not null,
  -- of the payer's transaction. Null: the money of a case is returned.
  reference text,
  amount bigint not null check (amount > 0),
  currency text not null,
  creditor_name text not null,
  creditor_account text not null,
  remittance text,
  times_received integer not null check (times_received > 0),
  accepted boolean not null,
  error_key text,
  error_details text,
  reason_code text,
  -- what settlement does next. Null: nothing.
  next_step text check (next_step in ('credit', 'settle')),
  due_at timestamptz,
  received_at timestamptz not null,
  primary key (partner_id, id),
  check ((next_step is null) = (due_at is null)),
  check (accepted or (next_step is null and error_key is not null))
);
select public.shard('rails.internal_transfers');
create index internal_transfers_due on rails.internal_transfers (due_at, id) where due_at is not null;
