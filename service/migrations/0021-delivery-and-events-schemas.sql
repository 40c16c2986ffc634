-- Schemas and names follow the layout of the code: the webhook engine owns `delivery`, the event outbox owns `events`,
-- a lane is an endpoint queue, what was `noticed` about it is its last alert, and a request hash is the fingerprint of a
-- request.
-- Names only: no row is rewritten. Processes of the version before must be stopped.
-- Locks: exclusive, for an instant, on the tables that are renamed.

alter schema webhooks rename to delivery;
alter schema outbox rename to events;
alter table delivery.lanes rename to endpoint_queues;
alter table delivery.endpoint_queues rename column noticed to last_alert;
alter table delivery.endpoint_queues rename constraint lanes_noticed_check to endpoint_queues_last_alert_check;
alter table payouts.payouts rename column request_hash to request_fingerprint;
alter table deposits.deposits rename column request_hash to request_fingerprint;
