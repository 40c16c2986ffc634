-- Users: the team of a partner, its invitations, its identity provider, guest links and saved views.
-- Locks: none, everything is new.

create schema users;

create table users.invitations (
  partner_id uuid not null references access.partners (id), id uuid not null,
  email text not null,
  email_key text not null, -- the address folded by the service (lower case, NFC).
  full_name text not null, role text not null check (role in ('Admin', 'Developer', 'Operator')),
  -- Pending after expires_at is shown as Expired; the row changes when the address is invited again.
  status text not null check (status in ('Pending', 'Accepted', 'Expired', 'Revoked')),
  redirect_url text,
  invited_by_id uuid not null, invited_by_name text not null,
  token_hash bytea not null check (octet_length(token_hash) = 32), -- SHA-256 of the token, which is in the mail only.
  expiry_days integer not null check (expiry_days between 1 and 30), -- a resend renews them.
  expires_at timestamptz not null,
  resends integer not null check (resends between 0 and 5), resent_at timestamptz,
  created_at timestamptz not null, updated_at timestamptz not null,
  given_by_id uuid, -- who invited or sent it again last: only while they could give its role does it open the team.
  primary key (partner_id, id),
  constraint invitations_token unique (partner_id, token_hash),
  check ((resends = 0) = (resent_at is null))
);
select public.shard('users.invitations');
-- One live invitation for each address.
create unique index invitations_one_live_per_address on users.invitations (partner_id, email_key) where status = 'Pending';

-- Mails of a day, in all (email_key '') and to each address: a new invitation does not evade the limit of resends.
create table users.invitation_mails (
  partner_id uuid not null,
  day date not null,
  email_key text not null,
  mails integer not null check (mails > 0),
  primary key (partner_id, day, email_key)
);
select public.shard('users.invitation_mails');

-- A member has the id of the accepted invitation.
create table users.members (
  partner_id uuid not null references access.partners (id), id uuid not null,
  email text not null,
  email_key text not null, -- as in users.invitations.
  full_name text not null, role text not null check (role in ('Admin', 'Developer', 'Operator')),
  created_at timestamptz not null, updated_at timestamptz not null,
  last_sign_in_at timestamptz, removed_at timestamptz,
  primary key (partner_id, id)
);
select public.shard('users.members');
create unique index members_one_per_address on users.members (partner_id, email_key) where removed_at is null;
create index members_by_address on users.members (email_key) where removed_at is null; -- The partners of an address.

-- The OpenID Connect provider of a partner's team.
create table users.single_sign_on (
  partner_id uuid not null references access.partners (id),
  issuer text not null, -- as in the metadata of the provider, and in the claim `iss`.
  client_id text not null,
  client_secret_sealed bytea not null,
  email_domain text not null, -- lower case, without a dot at the end.
  domain_token text not null, -- required in the DNS record of the domain.
  domain_proved_at timestamptz,
  role_claim text, -- null: invitations and the page of the team give roles.
  role_values jsonb not null, -- the values of the claim for each role.
  required boolean not null, -- members other than Admins sign in by the provider only.
  created_at timestamptz not null, updated_at timestamptz not null,
  primary key (partner_id),
  check (role_claim is not null or role_values = '{}'::jsonb)
);
select public.shard('users.single_sign_on');

-- Let a person without an account, such as an outside developer, into the webhook pages of a partner.
create table users.guest_links (
  partner_id uuid not null, id uuid not null,
  email text not null, full_name text not null,
  access text not null check (access in ('read', 'manage')),
  made_by_id uuid not null, made_by_name text not null,
  token_hash bytea not null check (octet_length(token_hash) = 32), -- SHA-256 of the token in the mail, which has 256 random bits.
  created_at timestamptz not null, expires_at timestamptz not null check (expires_at > created_at and expires_at <= created_at + interval '7 days'),
  -- SHA-256 of the token of the session, which a click on the page of the link opens, once.
  session_hash bytea check (octet_length(session_hash) = 32),
  opened_at timestamptz, opened_ip text,
  last_used_at timestamptz, revoked_at timestamptz,
  primary key (partner_id, id),
  constraint guest_links_opened_whole check ((opened_at is null) = (session_hash is null) and (opened_at is null) = (opened_ip is null)
    and (opened_at is null) = (last_used_at is null))
);
select public.shard('users.guest_links');
create unique index guest_links_token on users.guest_links (partner_id, token_hash);
create unique index guest_links_session on users.guest_links (partner_id, session_hash) where session_hash is not null;
-- The links of a maker that is removed or loses the permission.
create index guest_links_maker on users.guest_links (partner_id, made_by_id) where revoked_at is null;

-- Named filters of the lists of the console, of one person or shared with the team.
create table users.saved_views (
  partner_id uuid not null, id uuid not null,
  member_id uuid not null,
  page text not null, -- path of the list below the console, such as `transactions`.
  name text not null check (length(name) between 1 and 60),
  query text not null check (length(query) between 1 and 1000), -- without the cursor.
  is_shared boolean not null,
  created_at timestamptz not null, updated_at timestamptz not null,
  primary key (partner_id, id)
);
select public.shard('users.saved_views');
create unique index saved_views_names on users.saved_views (partner_id, member_id, page, name);
create index saved_views_shared on users.saved_views (partner_id, page, name, id) where is_shared;

-- A member who has lost the last way to sign in gets a link to set a new one.
create table users.recoveries (
  partner_id uuid not null references access.partners (id), id uuid not null,
  member_id uuid not null,
  status text not null check (status in ('Waiting', 'Open', 'Used', 'Cancelled')),
  by_staff boolean not null, -- begun by staff of the operator, not by an Admin of the team.
  begun_by_name text not null, reason text not null,
  due_at timestamptz, -- the end of the cooling-off.
  token_hash bytea check (octet_length(token_hash) = 32), -- SHA-256 of the token of the link, once it was mailed.
  expires_at timestamptz,
  cancel_hash bytea check (octet_length(cancel_hash) = 32), -- SHA-256 of the token by which an Admin cancels it.
  ended_because text, -- why it was cancelled.
  created_at timestamptz not null, updated_at timestamptz not null,
  primary key (partner_id, id),
  check (status <> 'Waiting' or (by_staff and due_at is not null and cancel_hash is not null)),
  check (status <> 'Open' or (token_hash is not null and expires_at is not null)),
  check ((status = 'Cancelled') = (ended_because is not null))
);
select public.shard('users.recoveries');
-- A member has one recovery at a time.
create unique index recoveries_live on users.recoveries (partner_id, member_id) where status in ('Waiting', 'Open');
create unique index recoveries_by_token on users.recoveries (partner_id, token_hash) where token_hash is not null;
create unique index recoveries_by_cancel on users.recoveries (partner_id, cancel_hash) where cancel_hash is not null;
create index recoveries_due on users.recoveries (due_at) where status = 'Waiting';

-- A change waits for a second Admin where payouts wait for a second person. A new one replaces it.
create table users.single_sign_on_changes (
  partner_id uuid not null references access.partners (id), id uuid not null,
  settings jsonb not null, -- the request, without the secret of the client.
  client_secret_sealed bytea, -- null: the secret before stays.
  proposed_by uuid not null, proposed_by_name text not null, proposed_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (partner_id),
  check (expires_at > proposed_at)
);
select public.shard('users.single_sign_on_changes');
