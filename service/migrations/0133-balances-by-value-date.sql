-- Balances that count by value date.
-- Why: a bank may leave an entry out of the closing balance until its value date. The statement that books it and the one behind it are
-- taken when the value dates of the entries explain the difference, which reconciliation names.
-- Processes of the version before may run: they put such statements aside, and leave the column null.
-- Locks: exclusive, for an instant, on rails.iso_statements.

-- how much more than its entries the balances of a statement moved, by the value dates of entries; null: nothing.
alter table rails.iso_statements add column by_value_date bigint;
