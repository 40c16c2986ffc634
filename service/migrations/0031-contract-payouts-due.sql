-- Payouts that are due are found by connector (migration 0030). The index without it is no longer used.
-- Locks: exclusive, for an instant, on payouts.
drop index payouts.payouts_due_by_partner;
