-- Transactions by the partner's own reference, where another transaction had it first.
-- Why: the operator finds a payment by the reference that the partner gave it (`operator payment find`).
-- Processes of the version before may run: they do not use the index.
-- Locks: writes to transactions wait while the index is built, which reads all of them and holds few.

create index transactions_by_own_reference on transactions.transactions (partner_id, user_reference)
  where user_reference is not null;
