-- Deposits: money on its way to a customer.
-- Locks: none on existing data; everything here is new.

create table deposits.deposits (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  operation text not null,
  idempotency_key text,
  request_hash text not null,
  transaction_id uuid not null,
  reference text not null,
  customer_id uuid not null,
  amount bigint not null check (amount > 0),
  currency text not null,
  status text not null check (status in
    ('Created', 'Initiated', 'Submitted', 'Accepted', 'Completed', 'Failed', 'Expired')),
  session_id text not null,
  end_to_end_id text not null,
  payment_method text not null,
  payment_country text not null,
  ip_address text not null,
  website_reference text,
  custom_fields text,
  -- json, known once the bank has booked the credit.
  debtor text,
  error_details text,
  -- not funded by then: expired. Null once that can no longer happen.
  expires_at timestamptz,
  expiry_date timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (partner_id, id),
  constraint deposits_key unique (partner_id, operation, idempotency_key),
  unique (partner_id, reference)
);
create index deposits_expiring on deposits.deposits (expires_at) where expires_at is not null;
select public.shard('deposits.deposits');
