-- Schemas and names follow the layout of the code: the webhook engine owns `delivery`, the event outbox owns `events`,
-- a lane is an endpoint queue, and what was `noticed` about it is its last alert.
-- The text for Citus, which renames no constraints: an index takes its constraint along, the others are made again. No
-- version before ran on a sharded database, so no views keep the old names.
-- Locks: exclusive, for an instant, on the tables that are renamed.

alter schema webhooks rename to delivery;
alter schema outbox rename to events;
alter table delivery.lanes rename to endpoint_queues;
alter table delivery.endpoint_queues rename column noticed to last_alert;
alter index delivery.lanes_pkey rename to endpoint_queues_pkey;
alter index delivery.lanes_due rename to endpoint_queues_due;
alter table delivery.endpoint_queues drop constraint lanes_noticed_check;
alter table delivery.endpoint_queues
  add constraint endpoint_queues_last_alert_check check (last_alert in ('Failing24h', 'Failing72h'));
alter table delivery.endpoint_queues drop constraint lanes_failures_check;
alter table delivery.endpoint_queues add constraint endpoint_queues_failures_check check (failures >= 0);
alter table delivery.endpoint_queues drop constraint lanes_leased;
alter table delivery.endpoint_queues
  add constraint endpoint_queues_leased check ((lease_id is null) = (lease_until is null));
alter table delivery.endpoint_queues drop constraint lanes_partner_id_subscription_id_fkey;
alter table delivery.endpoint_queues add constraint endpoint_queues_partner_id_subscription_id_fkey
  foreign key (partner_id, subscription_id) references delivery.subscriptions (partner_id, id);
