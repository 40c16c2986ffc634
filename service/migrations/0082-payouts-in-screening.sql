-- Since when a payout waits for a decision about a name on a sanctions list.
-- Why: it is not sent before persons have decided, and its timeline says once that it waits.
-- Processes of the version before may run: they send it all the same, so lists are loaded once none of them runs.
-- Locks: exclusive, for an instant, on payouts (a nullable column is no rewrite).
alter table payouts.payouts add column screening_since timestamptz;
