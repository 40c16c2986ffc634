-- Mail: one queue for every outgoing mail, one row for each mail to one address. It replaces the queue of invitation mails
-- (users.mails) and the alerts about failing endpoints (delivery.notices). The version before goes on with its tables;
-- migration 0028 takes over what they have not sent.
-- Locks: none on existing data.

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
