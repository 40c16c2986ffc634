-- Links that let a person without an account, such as an outside developer, into the webhook pages of a partner.
-- Why: a developer who repairs a receiver had to be a member of the team, who reads payments and customers.
-- Processes of the version before may run: they make no links and open none.
-- Locks: none on existing data; everything here is new.
create table users.guest_links (
  partner_id uuid not null,
  id uuid not null,
  email text not null,
  full_name text not null,
  access text not null check (access in ('read', 'manage')),
  made_by_id uuid not null,
  made_by_name text not null,
  -- SHA-256 of the token in the mail, which has 256 random bits.
  token_hash bytea not null check (octet_length(token_hash) = 32),
  created_at timestamptz not null,
  expires_at timestamptz not null check (expires_at > created_at and expires_at <= created_at + interval '7 days'),
  -- SHA-256 of the token of the session, which the click on the page of the link opens, once.
  session_hash bytea check (octet_length(session_hash) = 32),
  opened_at timestamptz,
  opened_ip text,
  last_used_at timestamptz,
  revoked_at timestamptz,
  primary key (partner_id, id),
  constraint guest_links_opened_whole check (
    (opened_at is null) = (session_hash is null) and (opened_at is null) = (opened_ip is null)
    and (opened_at is null) = (last_used_at is null))
);
select public.shard('users.guest_links');
create unique index guest_links_token on users.guest_links (partner_id, token_hash);
create unique index guest_links_session on users.guest_links (partner_id, session_hash) where session_hash is not null;
-- The links of a maker that is removed or loses the permission.
create index guest_links_maker on users.guest_links (partner_id, made_by_id) where revoked_at is null;
