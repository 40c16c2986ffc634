-- Transactions: an index for the filter by the partner's own reference.
-- Why: a payout whose reference another payment has keeps it as `user_reference`, and is found by it without reading every row.
-- Processes of the version before may run: they do not use the index.
-- Locks: writes to transactions wait while the index is built, about a second for each million rows.

create index transactions_by_user_reference on transactions.transactions (partner_id, user_reference, id)
  where user_reference is not null;
