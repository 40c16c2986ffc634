-- The bulks with payouts to make, by partner.
-- Why: partners take turns, so that the oldest due bulk of each is read, and the payouts that a partner has under way are counted.
-- Processes of the version before may run: they read bulks by bulks_due.
-- Locks: writes to bulks wait while the index is built; few bulks have not ended.

create index bulks_open on payouts.bulks (partner_id, due_at) where due_at is not null;
