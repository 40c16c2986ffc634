-- A transaction records its exchange (the money on the customer's side, the end of the quote) and its hash on a blockchain.
-- Why: conversions, payouts in another currency and transfers of tokens are transactions too.
-- Processes of the version before may run: they leave the columns null, and answer such a transaction without them.
-- Locks: exclusive, for an instant, on transactions (nullable columns are no rewrite).
alter table transactions.transactions
  add column user_amount bigint,
  add column user_currency text,
  add column fx_quote_expires_at timestamptz,
  add column transaction_hash text;
