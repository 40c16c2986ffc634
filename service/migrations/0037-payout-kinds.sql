-- A payout records what it was exchanged from, by which quote, and its hash on a blockchain.
-- Why: payouts in a currency that the partner buys for them, and payouts in tokens.
-- Processes of the version before may run: they leave the columns null. They do not know the end of a payout by cancellation,
-- and never see it: only payouts that no worker has begun are cancelled.
-- Locks: exclusive, for an instant, on payouts (nullable columns are no rewrite).
alter table payouts.payouts
  add column sold_amount bigint,
  add column sold_currency text,
  add column quote_id uuid,
  add column transaction_hash text;
