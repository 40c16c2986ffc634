-- Bulk payouts: up to a thousand payouts of one request, made by workers, with a result for each.
-- Why: a partner pays salaries or invoices in one request, as a whole or as far as it goes, and a kill in the middle loses nothing.
-- Processes of the version before may run: they do not use the tables.
-- Locks: writes to partners wait for an instant while the foreign key is added.

create table payouts.bulks (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  idempotency_key text not null,
  request_fingerprint text not null,
  mode text not null check (mode in ('AllOrNothing', 'BestEffort')),
  -- Refused: none of the payouts was made, because one of them could not be.
  status text not null check (status in ('Processing', 'Completed', 'Refused')),
  payouts integer not null check (payouts between 1 and 1000),
  -- who asked for the payouts.
  account_id uuid not null,
  account_name text not null,
  ip_address text not null,
  -- when a worker may claim it; while one works on it, the end of its lease.
  due_at timestamptz,
  lease_id uuid,
  created_at timestamptz not null,
  ended_at timestamptz,
  primary key (partner_id, id),
  unique (partner_id, idempotency_key),
  check ((status = 'Processing') = (due_at is not null)),
  check ((status = 'Processing') = (ended_at is null)),
  check (status = 'Processing' or lease_id is null)
);
create index bulks_due on payouts.bulks (due_at, partner_id) where due_at is not null;
select public.shard('payouts.bulks');

create table payouts.bulk_items (
  partner_id uuid not null,
  bulk_id uuid not null,
  -- its place in the request, from 0.
  position integer not null check (position between 0 and 999),
  idempotency_key text not null,
  amount bigint not null check (amount > 0),
  currency text not null,
  beneficiary_id uuid not null,
  reference text,
  -- NotMade: it would have been made, and another one of the bulk could not be.
  status text not null check (status in ('Processing', 'Accepted', 'Refused', 'NotMade')),
  payout_id uuid,
  transaction_reference text,
  problem_code text,
  problem_detail text,
  primary key (partner_id, bulk_id, position),
  foreign key (partner_id, bulk_id) references payouts.bulks (partner_id, id),
  check ((status = 'Accepted') = (payout_id is not null)),
  check ((status = 'Accepted') = (transaction_reference is not null)),
  check ((status = 'Refused') = (problem_code is not null))
);
select public.shard('payouts.bulk_items');
