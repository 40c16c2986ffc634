-- Transactions: one index that keeps references unique and in the order of their code points.
-- Why: the constraint and the index of 0067 each got an entry from every version of a transaction, four times for a payout. `text_pattern_ops`
-- compares bytes, which in UTF-8 is the order of code points, whatever the collation of the database; equal is the same as before.
-- Processes of the version before may run: they look references up by either index, and list prefixes by that of 0067.
-- Locks: writes to transactions wait while the index is built, about a second for each million rows.
create unique index transactions_references on transactions.transactions (partner_id, reference text_pattern_ops);
