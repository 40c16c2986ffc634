-- Payouts: accepted once per key, carried to a rail by claim and lease.
-- Locks: none on existing data; everything here is new.

create table payouts.payouts (
  partner_id uuid not null references access.partners (id),
  -- also the id of the instruction to the bank: the same at every try.
  id uuid not null,
  -- the scope of the idempotency key: an operation id of the wire.
  operation text not null,
  idempotency_key text,
  request_hash text not null,
  transaction_id uuid not null,
  reference text not null,
  reserve_id uuid not null,
  beneficiary_id uuid,
  customer_id uuid,
  amount bigint not null check (amount > 0),
  currency text not null,
  creditor_name text not null,
  creditor_account text not null,
  creditor_bic text,
  creditor_country text not null,
  -- what the beneficiary reads on the statement.
  remittance text,
  rail text not null,
  end_to_end_id text not null,
  ip_address text not null,
  -- a simulation's wish to the sandbox bank; null for real traffic.
  simulated_outcome text,
  status text not null check (status in
    ('Pending', 'PendingApproval', 'Processing', 'Sent', 'Completed', 'Failed', 'Returned', 'Cancelled')),
  error_key text,
  error_details text,
  -- tries at handing the instruction over; above 0 the bank is asked first whether it has it.
  send_attempts integer not null default 0,
  -- when a worker must look at it; null when there is nothing to do. A claim moves it to the end of the lease.
  due_at timestamptz,
  lease_id uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (partner_id, id),
  constraint payouts_key unique (partner_id, operation, idempotency_key)
);
create index payouts_due on payouts.payouts (due_at) where due_at is not null;
create index payouts_due_by_partner on payouts.payouts (partner_id, due_at) where due_at is not null;
create index payouts_by_beneficiary on payouts.payouts (partner_id, beneficiary_id, id);
create index payouts_by_status on payouts.payouts (partner_id, status, id);
select public.shard('payouts.payouts');
