-- Since when the bank has the payment of a deposit that has not ended, so that one that stands still is seen.
-- Why a column of its own: an index by status would have each step of a deposit write its row elsewhere (migration 0018).
-- Processes of the version before may run: their deposits have no time and are not watched.
-- Locks: exclusive, for an instant, on deposits; writes to them wait while the index is built, which is empty.
alter table deposits.deposits add column held_since timestamptz;
create index deposits_held on deposits.deposits (held_since) where held_since is not null;
