-- A balance counts the changes of the rules for what leaves it.
-- Why: accepting a payout reads the row of its balance anyway. A process keeps the rules that it has read, and reads them again when
-- the count has changed.
-- Processes of the version before may run. They change rules without the count: change rules once none of them runs.
-- Locks: exclusive, for an instant, on accounts (a nullable column is no rewrite).
alter table ledger.accounts add column controls_changed integer;
