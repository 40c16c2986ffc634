-- Mail: one queue for every outgoing mail, one row for each mail to one address. It replaces the queue of invitation mails
-- (users.mails) and the alerts about failing endpoints (delivery.notices), and takes over what they have not sent yet.
-- Processes of the version before must be stopped: a mail that they are sending is sent again.
-- Locks: exclusive on users.mails and delivery.notices, which are dropped.

create schema mail;

create table mail.messages (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  -- names the template that renders the mail.
  kind text not null,
  -- what the mail is about: the invitation or the subscription. No foreign key: a mail outlives its subscription.
  subject_id uuid not null,
  to_address text not null,
  to_name text not null,
  -- the fields of the template.
  data jsonb not null check (jsonb_typeof(data) = 'object'),
  -- the token of an invitation; erased when the mail ends.
  secret_sealed bytea,
  -- the mail is not sent from this time on.
  expires_at timestamptz,
  status text not null check (status in ('pending', 'sent', 'failed')),
  attempts integer not null check (attempts >= 0),
  -- while a worker sends the mail, the end of its lease.
  due_at timestamptz not null,
  lease_id uuid,
  last_error text,
  created_at timestamptz not null,
  ended_at timestamptz,
  primary key (partner_id, id),
  check ((status = 'pending') = (ended_at is null)),
  check (status = 'pending' or (lease_id is null and secret_sealed is null))
);
create index messages_due on mail.messages (partner_id, due_at) where status = 'pending';
create index messages_by_subject on mail.messages (partner_id, subject_id) where status = 'pending';
create index messages_ended on mail.messages (partner_id, ended_at) where status <> 'pending';
select public.shard('mail.messages');

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
