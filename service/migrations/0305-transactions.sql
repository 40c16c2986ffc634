-- Transactions: the partner's view of its payments, with the timeline of each. A list has an index for each filter: a filter that few rows pass would
-- read every row of the partner until it had a page.
-- Locks: none, everything is new.

create schema transactions;

create table transactions.transactions (
  partner_id uuid not null, id uuid not null,
  -- by which the partner finds it: the payout's own reference if it was free, else the service's.
  reference text not null check (char_length(reference) between 1 and 140),
  amount bigint not null check (amount > 0), currency text not null,
  category text not null check (category in ('Deposit', 'Withdrawal', 'Conversion')),
  direction text not null check (direction in ('Internal', 'Inward', 'Outward')),
  method text not null check (method in ('Fiat', 'Token')),
  party_type text not null check (party_type in ('Partner', 'Customer')),
  type text not null,
  status text not null check (status in ('Pending', 'Completed', 'Unsuccessful', 'Cancelled', 'Expired')),
  error_key text, rail text,
  customer_id uuid, beneficiary_id uuid,
  beneficiary_alias text, end_to_end_id text, session_id text, website_reference text,
  user_reference text, -- what the partner said, always.
  idempotency_key text, description text,
  originating_reference text, -- the transaction that this one gives back.
  creditor text, debtor text, partner_user text, -- JSON: read whole, never searched.
  created_at timestamptz not null, updated_at timestamptz not null,
  timeline jsonb not null constraint transactions_timeline check (jsonb_typeof(timeline) = 'array'),
  user_amount bigint, user_currency text, -- the exchange: money on the customer's side, end of the quote.
  fx_quote_expires_at timestamptz,
  transaction_hash text, -- on a blockchain.
  quote_id uuid, -- the accepted quote.
  primary key (partner_id, id),
  check ((party_type = 'Customer') = (customer_id is not null))
);
select public.shard('transactions.transactions');
create index transactions_by_customer on transactions.transactions (partner_id, customer_id, id);
create index transactions_by_status on transactions.transactions (partner_id, status, id);
create index transactions_by_key on transactions.transactions (partner_id, idempotency_key) where idempotency_key is not null;
create index transactions_by_category on transactions.transactions (partner_id, category, id);
create index transactions_by_beneficiary on transactions.transactions (partner_id, beneficiary_id, id) where beneficiary_id is not null;
create index transactions_by_time on transactions.transactions (partner_id, created_at, id);
create index transactions_by_type on transactions.transactions (partner_id, type, id);
create index transactions_by_rail on transactions.transactions (partner_id, rail, id) where rail is not null;
create index transactions_by_end_to_end on transactions.transactions (partner_id, end_to_end_id, id) where end_to_end_id is not null;
create index transactions_by_amount on transactions.transactions (partner_id, currency, amount, id);
-- A reader of changes reads them in the order of their times.
create index transactions_by_change on transactions.transactions (partner_id, updated_at, id);
-- Returns and reversals of a transaction.
create index transactions_by_original on transactions.transactions (partner_id, originating_reference, id) where originating_reference is not null;
-- Bytes of UTF-8 have the order of code points in every collation, so that a prefix is a range.
create unique index transactions_references on transactions.transactions (partner_id, reference text_pattern_ops);
-- Without texts that equal the reference, which its own index finds: each step of a payment would write them again.
create index transactions_by_user_text on transactions.transactions (partner_id, user_reference text_pattern_ops, id)
  where user_reference <> reference;
