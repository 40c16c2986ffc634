-- Exchange rates, quotes and conversions. All processes quote from one sheet of rates, and each quote names its sheet.
-- Locks: none, everything is new.

create schema rates;

-- Exchange rates that the service has read, or made in a sandbox.
create table rates.sheets (
  id uuid primary key,
  source text not null,
  as_of timestamptz not null, -- by the source; the latest is the newest sheet.
  read_at timestamptz not null,
  quotes text not null, -- JSON: the rate of each currency for one euro, as decimal text.
  by_hand text not null, -- JSON: the rates that a simulation has set.
  stopped boolean not null, -- a simulation has stopped the source: nothing is quoted.
  constraint sheets_newest unique (source, as_of, id)
);
select public.replicate('rates.sheets');

create schema fx;

-- Kept for ever, as the evidence of what was offered.
create table fx.quotes (
  partner_id uuid not null references access.partners (id), id uuid not null,
  kind text not null check (kind in ('firm', 'held')),
  sell_currency text not null,
  sell_amount bigint not null check (sell_amount > 0), -- with the fee.
  buy_currency text not null,
  buy_amount bigint not null check (buy_amount > 0),
  mid_rate text not null, -- decimal texts: rates are exact.
  rate text not null,
  margin_amount bigint not null check (margin_amount >= 0), -- in the bought currency: what the mid rate would have bought more.
  margin_basis_points integer not null check (margin_basis_points between 0 and 9999),
  fee_amount bigint not null check (fee_amount >= 0), -- in the sold currency.
  sheet_id uuid not null, -- of rates.sheets.
  idempotency_key text check (length(idempotency_key) between 1 and 255), -- null: the request had none.
  request_fingerprint text,
  customer_id uuid,
  created_at timestamptz not null, expires_at timestamptz not null,
  accepted_at timestamptz,
  accepted_by text, -- the reference of the transaction that has accepted it.
  primary key (partner_id, id),
  constraint quotes_two_currencies check (sell_currency <> buy_currency),
  constraint quotes_fee_leaves_something check (fee_amount < sell_amount),
  constraint quotes_accepted_by_one check ((accepted_at is null) = (accepted_by is null)),
  constraint quotes_accepted_in_time check (accepted_at < expires_at)
) with (fillfactor = 80);
select public.shard('fx.quotes');
create unique index quotes_key on fx.quotes (partner_id, idempotency_key) where idempotency_key is not null;
create index quotes_by_customer on fx.quotes (partner_id, customer_id, id) where customer_id is not null;

create table fx.conversions (
  partner_id uuid not null references access.partners (id),
  quote_id uuid not null, -- a quote is converted once.
  idempotency_key text not null check (length(idempotency_key) between 1 and 255),
  request_fingerprint text not null,
  transaction_id uuid not null, reference text not null,
  entry_id uuid not null, -- of ledger.transfers: the first transfer of the entry.
  created_at timestamptz not null,
  primary key (partner_id, quote_id),
  constraint conversions_key unique (partner_id, idempotency_key)
);
select public.shard('fx.conversions');
