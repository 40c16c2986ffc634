-- The queue: whole keys lead to the primary key alone, and an entry by reference is shorter.
-- Why: the end of an attempt is looked up by (partner_id, subscription_id, event_id). The index by reference began like
-- that, too, and with some statistics PostgreSQL took it instead and read all rows of a lane for each one that had ended,
-- up to half of what it did for a delivery. Ids of subscriptions are unique by themselves: partner_id adds nothing there.
-- Locks: exclusive on the queue while the index is built, which takes as long as there is owed.

drop index webhooks.queue_by_reference;
create index queue_by_reference on webhooks.queue (subscription_id, reference, sequence);
