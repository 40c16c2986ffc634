-- Lists and sums of checkout sessions by status and by time of creation, and of standing orders by status; incoming payments by the name of the payer.
--
-- Price: an entry of about 70 bytes in each index. deposits_of_sessions is written again at each change of the status, whose row already moves in
-- the index of what expires. The two of names have an entry for each version of the row of an incoming payment and none for a payout, about 1.5 GB
-- for ten million incoming payments. The name is in the row, in plain text, and leaves the indexes with it.
-- Locks: SHARE on deposits.deposits, checkout.sessions, payouts.standing_orders and transactions.transactions while the indexes are built: payments
-- wait, for about five seconds a million rows. On a large database make the indexes before, with the same names and text and `create index
-- concurrently`: the migration then finds them, and holds no lock that a request waits for.

create index if not exists deposits_of_sessions on deposits.deposits (partner_id, status, (session_id::uuid))
  where operation = 'createCheckoutSession';
create index if not exists sessions_by_creation on checkout.sessions (partner_id, created_at, id);
create index if not exists standing_orders_by_status on payouts.standing_orders (partner_id, status, id);
create index if not exists transactions_by_payer on transactions.transactions (partner_id,
  lower(debtor::json ->> 'accountHolderName') text_pattern_ops, id desc)
  where direction = 'Inward' and debtor is not null;
create index if not exists transactions_by_last_word_of_payer on transactions.transactions (partner_id,
  lower(substring(debtor::json ->> 'accountHolderName' from '\S+$')) text_pattern_ops, id desc)
  where direction = 'Inward' and debtor is not null;
