-- Recalls of payouts by the partner: a request to the bank, with its deadline and what became of it.
-- Why: issue 19. A payout that was made twice or by fraud is asked back within the periods of the SEPA rulebooks, and an answer is due.
-- Processes of the version before may run: they do not use the table.
-- Locks: writes to partners wait for an instant while the foreign key is added.
create table payouts.recalls (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  payout_id uuid not null,
  -- the transaction of the payout, whose timeline gets the steps, and what the payout says of itself.
  transaction_id uuid not null,
  payout_reference text not null,
  connector text not null,
  instruction_id uuid not null,
  amount bigint not null check (amount > 0),
  currency text not null,
  -- ISO 20022, ExternalCancellationReason1Code.
  reason text not null check (reason in ('DUPL', 'TECH', 'FRAD', 'CUST', 'AC03', 'AM09')),
  -- what the partner says besides. Null: nothing, or the customer was erased.
  details text,
  status text not null check (status in ('Requested', 'Sent', 'Accepted', 'Refused', 'Expired')),
  requested_by uuid not null,
  requested_name text not null,
  requested_at timestamptz not null,
  -- the last day for the request.
  request_due_on date not null,
  sent_at timestamptz,
  -- the last day for the answer, and the end of that day where TARGET is.
  answer_due_on date,
  answer_due_at timestamptz,
  answered_at timestamptz,
  answer_code text,
  expired_at timestamptz,
  -- the money that came back, and the transaction that brought it.
  settled_amount bigint check (settled_amount > 0 and settled_amount <= amount),
  return_reference text,
  returned_at timestamptz,
  -- when a worker gives it to the bank. Null: the bank has it, or does not get it.
  due_at timestamptz,
  lease_id uuid,
  attempts integer not null,
  updated_at timestamptz not null,
  primary key (partner_id, id),
  constraint recalls_reason unique (partner_id, payout_id, reason),
  check ((status = 'Requested') = (due_at is not null)),
  check (status <> 'Sent' or answer_due_at is not null),
  check (status <> 'Expired' or expired_at is not null),
  check ((sent_at is null) = (answer_due_at is null) and (sent_at is null) = (answer_due_on is null)),
  check ((settled_amount is null) = (returned_at is null) and (settled_amount is null) = (return_reference is null)),
  check (settled_amount is null or status = 'Accepted')
);
-- A payout has one recall that the bank has not answered.
create unique index recalls_open on payouts.recalls (partner_id, payout_id) where status in ('Requested', 'Sent');
-- A worker reads what is due, and what is overdue, from its beginning.
create index recalls_due on payouts.recalls (connector, due_at, partner_id) where due_at is not null;
create index recalls_overdue on payouts.recalls (answer_due_at, partner_id, id) where status = 'Sent';
select public.shard('payouts.recalls');
