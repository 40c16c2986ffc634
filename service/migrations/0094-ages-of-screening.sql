-- Finds the oldest payout that waits for a decision about a name, and the name that has waited longest to be screened.
-- Why: the ages of both are metrics, read every few seconds.
-- The first index has columns in its condition that indexes of payouts have already: a step of a payout writes no further entry.
-- Locks: writes to payouts and subjects wait while the indexes are built; the first one reads all payouts and has few of them.
create index payouts_in_screening on payouts.payouts (screening_since) where screening_since is not null and due_at is not null;
create index subjects_waiting on screening.subjects (generation, changed_at);
