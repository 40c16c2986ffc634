-- The mails of invitations that a partner sends on a day, in all (email_key '') and to each address.
-- Why: revoking an invitation and creating another evaded the limit of resends: 13 mails to one stranger in seconds.
-- Processes of the version before may run: they count nothing.
-- Locks: none on tables that are there.
create table users.invitation_mails (
  partner_id uuid not null,
  day date not null,
  email_key text not null,
  mails integer not null check (mails > 0),
  primary key (partner_id, day, email_key)
);
select public.shard('users.invitation_mails');
