-- The sandbox bank sends bank notifications, the term of its port (`BankNotification`).
-- Why: the old name also means the email about a failing endpoint.
-- Names only: no row is rewritten. A view under the old name lets the version before go on: migration 0028 drops it.
-- Locks: exclusive, for an instant, on the sandbox bank's notifications.

alter table rails.sandbox_notices rename to sandbox_notifications;
alter table rails.sandbox_notifications rename constraint sandbox_notices_pkey to sandbox_notifications_pkey;
alter table rails.sandbox_notifications
  rename constraint sandbox_notices_partner_id_fkey to sandbox_notifications_partner_id_fkey;
alter index rails.sandbox_notices_due rename to sandbox_notifications_due;
create view rails.sandbox_notices as select * from rails.sandbox_notifications;
