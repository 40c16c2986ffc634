-- A balance may be marked as controlled: the operator has set rules for what leaves it.
-- Why: accepting a payout reads the row of its balance anyway. A partner without rules pays for them with no statement.
-- Processes of the version before may run: they leave the column null, and do not know the rules.
-- Locks: exclusive, for an instant, on accounts (a nullable column is no rewrite).
alter table ledger.accounts add column controlled boolean;
