-- Transactions: the constraint and the index that 0145 replaces.
-- Why: only the version before lists prefixes by the index of 0067.
-- Locks: exclusive, for an instant, on transactions.
alter table transactions.transactions drop constraint transactions_reference;
drop index transactions.transactions_by_reference;
