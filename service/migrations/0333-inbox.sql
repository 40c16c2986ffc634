-- Inbox: what has happened that persons may be told of, the entries of each person, and how each person wants to be told by mail.
-- Locks: none on tables that exist; everything is new. The last statement reads access.service_accounts once.

create schema inbox;

-- Written with the change that it reports, and taken once by the job that makes the entries.
create table inbox.facts (
  partner_id uuid not null, id uuid not null,
  type text not null,
  subject text not null, -- id of the thing.
  occasion text not null, -- the same for what is told once: the subject, or the subject with its time.
  facts jsonb not null check (jsonb_typeof(facts) = 'object'),
  occurred_at timestamptz not null,
  due_at timestamptz not null, -- in the future: a key that expires, an approval that lapses.
  primary key (partner_id, id)
);
select public.shard('inbox.facts');
create index facts_due on inbox.facts (due_at);
create index facts_of_partner on inbox.facts (partner_id, due_at);

create table inbox.entries (
  partner_id uuid not null, person_id uuid not null, id uuid not null,
  type text not null,
  subject text not null,
  occasion text not null,
  facts jsonb not null check (jsonb_typeof(facts) = 'object'),
  occurred_at timestamptz not null,
  mail_by text check (mail_by in ('now', 'daily')), -- as the person wanted it when it came. Null: no mail.
  mail_due_at timestamptz, -- null: no mail, or it is in the queue of mails.
  read_at timestamptz,
  primary key (partner_id, person_id, id),
  check (mail_due_at is null or mail_by is not null)
);
select public.shard('inbox.entries');
create unique index entries_once on inbox.entries (partner_id, person_id, type, occasion);
create index entries_unread on inbox.entries (partner_id, person_id) where read_at is null;
create index entries_to_mail on inbox.entries (partner_id, person_id, mail_due_at) where mail_due_at is not null;
create index entries_age on inbox.entries (occurred_at);
create index entries_age_of_partner on inbox.entries (partner_id, occurred_at);

-- The choices of a person. A kind without a choice has the default of the role.
create table inbox.readers (
  partner_id uuid not null references access.partners (id), person_id uuid not null,
  language text check (language in ('en', 'de')), -- chosen. Null: that of the last page.
  seen_language text check (seen_language in ('en', 'de')),
  zone text not null, daily_hour integer not null check (daily_hour between 0 and 23),
  choices jsonb not null check (jsonb_typeof(choices) = 'object'), -- kind to now, daily or no.
  mail_subject_id uuid not null, -- subject of the mails in the queue, which end when the person may no longer read them.
  mail_due_at timestamptz, -- the earliest of the entries.
  updated_at timestamptz not null,
  primary key (partner_id, person_id)
);
select public.shard('inbox.readers');
create index readers_to_mail on inbox.readers (mail_due_at) where mail_due_at is not null;

-- Keys that exist and expire: a fact is due two weeks before.
insert into inbox.facts (partner_id, id, type, subject, occasion, facts, occurred_at, due_at)
select partner_id, id, 'key.expires', id::text, id::text || ' ' || floor(extract(epoch from expires_at))::bigint::text,
  '{}'::jsonb, created_at, expires_at - interval '14 days'
from access.service_accounts
where expires_at is not null and revoked_at is null and impersonated_by is null;
