-- Drops what only the version before migration 0021 uses: its names of tables, and its two queues of mails, whose pending
-- mails move to mail.messages.
-- Why: migrations 0021 to 0023 left it in place, so that both versions run side by side during an upgrade. This one is
-- applied when no process of the version before runs (docs/operations.md, Upgrades).
-- Locks: exclusive on users.mails and delivery.notices, which are dropped.

drop view webhooks.lanes;
drop view webhooks.notices;
drop view webhooks.recoveries;
drop view webhooks.attempts;
drop view webhooks.deliveries;
drop view webhooks.queue;
drop view webhooks.feed;
drop view webhooks.secrets;
drop view webhooks.subscriptions;
drop view webhooks.partners;
drop schema webhooks;
drop view outbox.pending;
drop view outbox.events;
drop schema outbox;
drop view rails.sandbox_notices;

insert into mail.messages (partner_id, id, kind, subject_id, to_address, to_name, data, secret_sealed, expires_at, status,
  attempts, due_at, last_error, created_at)
select partner_id, id, kind, invitation_id, to_address, to_name,
  jsonb_build_object('role', role, 'invitedByName', invited_by_name, 'linkUrl', link_url), token_sealed, expires_at,
  status, attempts, next_attempt_at, last_error, created_at
from users.mails where status = 'pending';

-- Each alert becomes a mail to every recipient that it has not reached: as the service chose them, the people whose newest
-- invitation says Admin or Developer. The ids keep the time of the alert and differ by recipient.
insert into mail.messages (partner_id, id, kind, subject_id, to_address, to_name, data, status, attempts, due_at,
  created_at)
select alert.partner_id,
  (left(replace(alert.id::text, '-', ''), 16) || '8' || left(md5(alert.id::text || member.email_key), 15))::uuid,
  'endpoint_alert', alert.subscription_id, member.email, member.full_name,
  jsonb_build_object('alert', alert.kind, 'subscriptionId', alert.subscription_id, 'url', alert.url,
    'failingSince', alert.failing_since, 'lastError', alert.last_error),
  'pending', alert.mail_attempts, alert.mail_due_at, alert.created_at
from delivery.notices alert
cross join lateral (
  select full_name, email, email_key from (
    select distinct on (email_key) id, full_name, email, email_key, role, status from users.invitations
    where partner_id = alert.partner_id order by email_key, id desc) newest
  where role in ('Admin', 'Developer') and status <> 'Revoked'
  order by id limit 20) member
where alert.mail_due_at is not null and not member.email_key = any(alert.mail_done);

drop table users.mails;
drop table delivery.notices;
