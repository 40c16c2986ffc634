-- Single sign-on by OpenID Connect: the provider of a partner, and the identities of people at providers.
-- Why: the teams of partners, and staff, keep their people at one place, where who leaves loses every access at once.
-- Processes of the version before may run: they read sessions by single sign-on as any other, and open none.
-- Locks: sign_in.sessions, for the time of a read of its rows, which are few: sessions that are over are deleted at the next sign-in.

-- The provider of a partner's team.
create table users.single_sign_on (
  partner_id uuid not null references access.partners (id),
  -- as in the metadata of the provider, and in the claim `iss`.
  issuer text not null,
  client_id text not null,
  client_secret_sealed bytea not null,
  -- lower case, without a dot at the end.
  email_domain text not null,
  -- what the DNS record of the domain has to say.
  domain_token text not null,
  domain_proved_at timestamptz,
  -- null: roles are given by invitations and on the page of the team.
  role_claim text,
  -- the values of the claim for each role.
  role_values jsonb not null,
  -- whether members other than Admins sign in by the provider only.
  required boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (partner_id),
  check (role_claim is not null or role_values = '{}'::jsonb)
);
select public.shard('users.single_sign_on');

-- Who a person is at a provider. The identity of a member who was removed stays, so that it opens no new account.
create table sign_in.identities (
  partner_id uuid not null,
  issuer text not null,
  -- the claim `sub`: the only one that stays the same for a person.
  subject text not null,
  member_id uuid not null,
  connected_at timestamptz not null,
  last_used_at timestamptz,
  primary key (partner_id, issuer, subject)
);
create index identities_by_member on sign_in.identities (partner_id, member_id);
select public.shard('sign_in.identities');

alter table sign_in.sessions drop constraint sessions_factor_check;
alter table sign_in.sessions add constraint sessions_factor_check check (factor in ('passkey', 'password', 'sso'));
