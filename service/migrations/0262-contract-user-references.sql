-- Transactions: the index that 0260 replaces.
-- Why: it would have an entry for every payment, and one more for each of its steps.
-- Locks: transactions, for a moment.

drop index transactions.transactions_by_user_reference;
