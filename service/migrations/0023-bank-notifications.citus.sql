-- The sandbox bank sends bank notifications, the term of its port (`BankNotification`).
-- Why: the old name also means the email about a failing endpoint.
-- The text for Citus, which renames no constraints. No version before ran on a sharded database, so no view keeps the name.
-- Locks: exclusive, for an instant, on the sandbox bank's notifications.

alter table rails.sandbox_notices rename to sandbox_notifications;
alter index rails.sandbox_notices_pkey rename to sandbox_notifications_pkey;
alter index rails.sandbox_notices_due rename to sandbox_notifications_due;
alter table rails.sandbox_notifications drop constraint sandbox_notices_partner_id_fkey;
alter table rails.sandbox_notifications
  add constraint sandbox_notifications_partner_id_fkey foreign key (partner_id) references access.partners (id);
