-- Users: invitations to a partner's team, and the queue of the mails that carry them.
-- Locks: none on existing data; everything here is new.

create table users.invitations (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  email text not null,
  -- the address folded (lower case, NFC) by the service: what "the same address" means.
  email_key text not null,
  full_name text not null,
  role text not null check (role in ('Admin', 'Developer', 'Operator')),
  -- Pending past expires_at is shown as Expired; the row follows when the address is invited again.
  status text not null check (status in ('Pending', 'Accepted', 'Expired', 'Revoked')),
  redirect_url text,
  invited_by_id uuid not null,
  invited_by_name text not null,
  -- SHA-256 of the token; the token itself is in the mail only.
  token_hash bytea not null check (octet_length(token_hash) = 32),
  -- the length in days that a resend renews.
  expiry_days integer not null check (expiry_days between 1 and 30),
  expires_at timestamptz not null,
  resends integer not null check (resends between 0 and 5),
  resent_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (partner_id, id),
  constraint invitations_token unique (partner_id, token_hash),
  check ((resends = 0) = (resent_at is null))
);
-- One live invitation per address, whatever runs at the same time.
create unique index invitations_one_live_per_address on users.invitations (partner_id, email_key)
  where status = 'Pending';
select public.shard('users.invitations');

-- A mail to send: written in the transaction that makes its token, with everything its text says.
create table users.mails (
  partner_id uuid not null,
  id uuid not null,
  invitation_id uuid not null,
  kind text not null check (kind in ('invitation', 'invitation_resent')),
  to_address text not null,
  to_name text not null,
  role text not null,
  invited_by_name text not null,
  -- where the link leads, without the token; null: the mail shows the token as a code.
  link_url text,
  expires_at timestamptz not null,
  -- erased when the mail is sent or given up.
  token_sealed bytea,
  status text not null check (status in ('pending', 'sent', 'failed')),
  attempts integer not null check (attempts >= 0),
  next_attempt_at timestamptz not null,
  lease_id uuid,
  lease_until timestamptz,
  last_error text,
  created_at timestamptz not null,
  ended_at timestamptz,
  primary key (partner_id, id),
  foreign key (partner_id, invitation_id) references users.invitations (partner_id, id),
  check ((status = 'pending') = (token_sealed is not null)),
  check ((status = 'pending') = (ended_at is null)),
  check ((lease_id is null) = (lease_until is null)),
  check (status = 'pending' or lease_id is null)
);
create index mails_due on users.mails (partner_id, next_attempt_at) where status = 'pending';
create index mails_by_invitation on users.mails (partner_id, invitation_id);
select public.shard('users.mails');
