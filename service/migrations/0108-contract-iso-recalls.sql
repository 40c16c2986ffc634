-- A payment may have another recall when the one before was refused. The index iso_recalls_open keeps one open.
-- Why: only the version before migration 0107 finds a payment's recall by this constraint.
-- Locks: exclusive, for an instant, on iso_recalls.
alter table rails.iso_recalls drop constraint iso_recalls_one;
