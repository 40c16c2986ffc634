-- A gate of its own for conversions and tokens: what customers in a state of their verification may exchange, and whether they have tokens.
-- Why: a gate without payouts did not stop conversions (issue 41).
-- Processes of the version before may run: they convert without regard to it. A gate that they set keeps it.
-- Locks: gates, exclusively, for an instant.
-- Null: set before there was this column; conversions and tokens go on as they did.
alter table customers.gates add column converts boolean;
