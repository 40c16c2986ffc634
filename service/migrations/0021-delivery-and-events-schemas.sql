-- Schemas and names follow the layout of the code: the webhook engine owns `delivery`, the event outbox owns `events`,
-- a lane is an endpoint queue, and what was `noticed` about it is its last alert.
-- Names only: no row is rewritten. Views under the old names let the version before go on: migration 0028 drops them.
-- Locks: exclusive, for an instant, on the tables that are renamed.

alter schema webhooks rename to delivery;
alter schema outbox rename to events;
alter table delivery.lanes rename to endpoint_queues;
alter table delivery.endpoint_queues rename column noticed to last_alert;
alter table delivery.endpoint_queues rename constraint lanes_noticed_check to endpoint_queues_last_alert_check;
alter table delivery.endpoint_queues rename constraint lanes_pkey to endpoint_queues_pkey;
alter table delivery.endpoint_queues
  rename constraint lanes_partner_id_subscription_id_fkey to endpoint_queues_partner_id_subscription_id_fkey;
alter table delivery.endpoint_queues rename constraint lanes_failures_check to endpoint_queues_failures_check;
alter table delivery.endpoint_queues rename constraint lanes_leased to endpoint_queues_leased;
alter index delivery.lanes_due rename to endpoint_queues_due;

-- The version before reads and writes through these views.
create schema outbox;
create view outbox.events as select * from events.events;
create view outbox.pending as select * from events.pending;
create schema webhooks;
create view webhooks.partners as select * from delivery.partners;
create view webhooks.subscriptions as select * from delivery.subscriptions;
create view webhooks.secrets as select * from delivery.secrets;
create view webhooks.feed as select * from delivery.feed;
create view webhooks.queue as select * from delivery.queue;
create view webhooks.deliveries as select * from delivery.deliveries;
create view webhooks.attempts as select * from delivery.attempts;
create view webhooks.recoveries as select * from delivery.recoveries;
create view webhooks.notices as select * from delivery.notices;
create view webhooks.lanes as
  select partner_id, subscription_id, due_at, paused_until, owed, lease_id, lease_until, failures, failing_since,
    probe_ms, slow_start, last_alert as noticed
  from delivery.endpoint_queues;
