-- A counter keeps the limit that it was last added to under.
-- Why: a batch adds to its counters with one statement, which finds that a sum is beyond its limit: no lock and no second statement
-- are needed before it.
-- Processes of the version before may run: they leave the column as it is, and judge under the lock.
-- Locks: exclusive, for an instant, on limit_counters (a nullable column is no rewrite).
alter table payouts.limit_counters add column most bigint;
