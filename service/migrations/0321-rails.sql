-- Rails: the records of the sandbox bank, and transfers between accounts of this service (connector `internal`).
-- Locks: none, everything is new.

create schema rails;

-- What the sandbox bank was told.
create table rails.sandbox_instructions (
  partner_id uuid not null references access.partners (id), id uuid not null,
  end_to_end_id text not null,
  amount bigint not null, currency text not null, creditor_name text not null, creditor_account text not null,
  times_received integer not null, -- more than once is a fault of the sender.
  accepted boolean not null, -- the answer of the bank.
  error_key text, error_details text,
  received_at timestamptz not null,
  reason_code text, -- of a refusal, in the bank's code list.
  primary key (partner_id, id)
);
select public.shard('rails.sandbox_instructions');

-- What the sandbox bank will report. An acknowledged notification is deleted.
create table rails.sandbox_notifications (
  partner_id uuid not null references access.partners (id), id uuid not null,
  subject_id uuid not null, -- of an instruction or a deposit.
  kind text not null, payload text not null,
  due_at timestamptz not null,
  primary key (partner_id, id)
);
select public.shard('rails.sandbox_notifications');
create index sandbox_notifications_due on rails.sandbox_notifications (due_at, id);

-- What the sandbox bank has got, so that tests show that it got a recall once.
create table rails.sandbox_recalls (
  partner_id uuid not null references access.partners (id), id uuid not null,
  instruction_id uuid not null,
  reason text not null,
  times_received integer not null check (times_received > 0),
  received_at timestamptz not null,
  primary key (partner_id, id)
);
select public.shard('rails.sandbox_recalls');

-- The connector `internal` credits the payee, then settles the payout, without a bank.
create table rails.internal_transfers (
  partner_id uuid not null references access.partners (id),
  id uuid not null, -- of the instruction.
  customer_id uuid,
  end_to_end_id text not null,
  reference text, -- of the payer's transaction. Null: the money of a case is returned.
  amount bigint not null check (amount > 0), currency text not null,
  creditor_name text not null, creditor_account text not null,
  remittance text,
  times_received integer not null check (times_received > 0),
  accepted boolean not null,
  error_key text, error_details text, reason_code text,
  next_step text check (next_step in ('credit', 'settle')), -- of settlement. Null: none.
  due_at timestamptz,
  received_at timestamptz not null,
  primary key (partner_id, id),
  check ((next_step is null) = (due_at is null)),
  check (accepted or (next_step is null and error_key is not null))
);
select public.shard('rails.internal_transfers');
create index internal_transfers_due on rails.internal_transfers (due_at, id) where due_at is not null;
