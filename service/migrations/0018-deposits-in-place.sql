-- Deposits: each step of a deposit is written beside it, on its own page, and needs no new entries in the indexes.
-- Why: the deposits of one bank statement stand on the same pages and move together, four times each; on full pages every
-- move is a row elsewhere with an entry in each of three indexes: a tenth of what PostgreSQL did for a deposit. The space
-- kept free, as much as the rows take, is what those entries and dead rows took before.
-- Locks: brief. What is on full pages stays there.

alter table deposits.deposits set (fillfactor = 50);
