-- The queue: only what goes in strict order has an entry by its reference.
-- Why: each delivery wrote one, a quarter of its log and a tenth of its processor's time, and nothing but subscriptions
-- that are `ordered` ever reads it.
-- Locks: exclusive on the queue while the index is built, and for the rows of ordered subscriptions, which are written anew.
-- Workers of the version before must be stopped: they would not mark what they put into the queue.

-- as its subscription is, from its first row on.
alter table webhooks.queue add column ordered boolean not null default false;
update webhooks.queue q set ordered = true from webhooks.subscriptions s
  where s.partner_id = q.partner_id and s.id = q.subscription_id and s.ordered;
drop index webhooks.queue_by_reference;
create index queue_by_reference on webhooks.queue (subscription_id, reference, sequence) where ordered;

-- the switch to strict order whose older rows are still to be marked; until they are, nothing of it is attempted.
alter table webhooks.subscriptions add column order_pending uuid;
