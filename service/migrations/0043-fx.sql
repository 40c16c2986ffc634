-- Exchange quotes and conversions: a partner sells one currency of its balance and buys another at a rate that holds for a time.
-- Why: the group fx. A quote is kept for ever, as the evidence of what was offered; a conversion keeps its key for ever.
-- Processes of the version before may run: they do not use the tables.
-- Locks: writes to partners wait for an instant while the foreign keys are added.

create schema fx;
create table fx.quotes (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  kind text not null check (kind in ('firm', 'held')),
  sell_currency text not null,
  -- what leaves the balance, the fee included.
  sell_amount bigint not null check (sell_amount > 0),
  buy_currency text not null,
  buy_amount bigint not null check (buy_amount > 0),
  -- decimal texts: the rates are exact.
  mid_rate text not null,
  rate text not null,
  -- in the bought currency: what the mid rate would have bought more.
  margin_amount bigint not null check (margin_amount >= 0),
  margin_basis_points integer not null check (margin_basis_points between 0 and 9999),
  -- in the sold currency.
  fee_amount bigint not null check (fee_amount >= 0),
  -- of rates.sheets.
  sheet_id uuid not null,
  -- of the request; null: it had no key.
  idempotency_key text check (length(idempotency_key) between 1 and 255),
  request_fingerprint text,
  customer_id uuid,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  accepted_at timestamptz,
  -- the reference of the transaction that has accepted it.
  accepted_by text,
  primary key (partner_id, id),
  constraint quotes_two_currencies check (sell_currency <> buy_currency),
  constraint quotes_fee_leaves_something check (fee_amount < sell_amount),
  constraint quotes_accepted_by_one check ((accepted_at is null) = (accepted_by is null)),
  constraint quotes_accepted_in_time check (accepted_at < expires_at)
) with (fillfactor = 80);
create unique index quotes_key on fx.quotes (partner_id, idempotency_key) where idempotency_key is not null;
select public.shard('fx.quotes');

create table fx.conversions (
  partner_id uuid not null references access.partners (id),
  -- one conversion for each quote.
  quote_id uuid not null,
  idempotency_key text not null check (length(idempotency_key) between 1 and 255),
  request_fingerprint text not null,
  transaction_id uuid not null,
  reference text not null,
  -- of ledger.transfers: the first transfer of the entry.
  entry_id uuid not null,
  created_at timestamptz not null,
  primary key (partner_id, quote_id),
  constraint conversions_key unique (partner_id, idempotency_key)
);
select public.shard('fx.conversions');
