-- Transactions: everything that moved, or tried to, and its timeline.
-- Locks: none on existing data; everything here is new.

create table transactions.transactions (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  -- what the partner finds it by: the payout's own reference where that was free, else the service's.
  reference text not null check (char_length(reference) between 1 and 140),
  amount bigint not null check (amount > 0),
  currency text not null,
  category text not null check (category in ('Deposit', 'Withdrawal', 'Conversion')),
  direction text not null check (direction in ('Internal', 'Inward', 'Outward')),
  method text not null check (method in ('Fiat', 'Token')),
  party_type text not null check (party_type in ('Partner', 'Customer')),
  type text not null,
  status text not null check (status in ('Pending', 'Completed', 'Unsuccessful', 'Cancelled', 'Expired')),
  error_key text,
  rail text,
  customer_id uuid,
  beneficiary_id uuid,
  beneficiary_alias text,
  end_to_end_id text,
  session_id text,
  website_reference text,
  user_reference text,
  idempotency_key text,
  description text,
  -- the transaction that this one gives back (a return is a new transaction, never a rewritten past).
  originating_reference text,
  -- json objects of the document's shapes: they are read whole and never searched.
  creditor text,
  debtor text,
  partner_user text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (partner_id, id),
  constraint transactions_reference unique (partner_id, reference),
  check ((party_type = 'Customer') = (customer_id is not null))
);
create index transactions_by_customer on transactions.transactions (partner_id, customer_id, id);
create index transactions_by_status on transactions.transactions (partner_id, status, id);
create index transactions_by_key on transactions.transactions (partner_id, idempotency_key) where idempotency_key is not null;
select public.shard('transactions.transactions');

create table transactions.timeline (
  partner_id uuid not null,
  transaction_id uuid not null,
  position integer not null check (position >= 0),
  step text not null,
  status text not null,
  created_at timestamptz not null,
  primary key (partner_id, transaction_id, position),
  foreign key (partner_id, transaction_id) references transactions.transactions (partner_id, id)
);
select public.shard('transactions.timeline');
