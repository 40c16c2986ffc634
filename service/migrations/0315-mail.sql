-- Mail: one queue for all outgoing mails, one row for each mail to one address.
-- Locks: none, everything is new.

create schema mail;

create table mail.messages (
  partner_id uuid not null references access.partners (id), id uuid not null,
  kind text not null, -- the template.
  subject_id uuid not null, -- the invitation or the subscription. No foreign key: a mail outlives its subscription.
  to_address text not null, to_name text not null,
  data jsonb not null check (jsonb_typeof(data) = 'object'), -- the fields of the template.
  secret_sealed bytea, -- the token of an invitation; erased when the mail ends.
  expires_at timestamptz, -- the mail is not sent later.
  status text not null check (status in ('pending', 'sent', 'failed')),
  attempts integer not null check (attempts >= 0),
  due_at timestamptz not null, -- a claim moves it to the end of the lease.
  lease_id uuid,
  last_error text,
  created_at timestamptz not null, ended_at timestamptz,
  primary key (partner_id, id),
  check ((status = 'pending') = (ended_at is null)),
  check (status = 'pending' or (lease_id is null and secret_sealed is null))
);
select public.shard('mail.messages');
create index messages_due on mail.messages (partner_id, due_at) where status = 'pending';
create index messages_by_subject on mail.messages (partner_id, subject_id) where status = 'pending';
create index messages_ended on mail.messages (partner_id, ended_at) where status <> 'pending';
