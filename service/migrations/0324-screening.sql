-- Screening: lists of sanctions, of politically exposed persons and of countries, and the hits of names on them. A payment to or from a listed person
-- waits until staff has decided.
-- Locks: none, everything is new.

create schema screening;

-- One row for each list that was loaded. The newest row of a source is its list; the newest of all is the state of the lists.
create table screening.lists (
  generation integer primary key check (generation > 0),
  source text not null check (source in ('un', 'eu', 'ofac', 'countries') or source like 'pep:%'),
  published_at timestamptz not null,
  hash text not null, -- SHA-256 of the file.
  loaded_at timestamptz not null, loaded_by text not null,
  entries integer not null, names integer not null,
  added integer not null, changed integer not null, removed integer not null, -- against the list of the source before it.
  -- Without rules the list is empty, and so is a removed list of politically exposed persons.
  constraint lists_entries_check check (entries > 0 or source = 'countries' or source like 'pep:%')
);
select public.replicate('screening.lists');

-- An entry from one generation on, until another changed or removed it.
create table screening.entries (
  source text not null, entry_id text not null, from_generation integer not null, until_generation integer,
  digest text not null, -- SHA-256 of detail.
  detail text not null, -- JSON: what the list says.
  primary key (source, entry_id, from_generation),
  check (until_generation > from_generation)
);
select public.replicate('screening.entries');

-- What is screened. Its names stay in the table of its module.
create table screening.subjects (
  partner_id uuid not null references access.partners (id),
  kind text not null check (kind in ('customer', 'beneficiary', 'payer', 'payout', 'partner', 'person')),
  id uuid not null,
  generation integer not null, -- the lists that its present names were screened against. 0: none yet.
  lease_id uuid, leased_until timestamptz, -- a worker screens it.
  changed_at timestamptz not null, -- when its names were written, as far as this table knows.
  screened_at timestamptz,
  primary key (partner_id, kind, id),
  check ((lease_id is null) = (leased_until is null))
);
select public.shard('screening.subjects');
create index subjects_due on screening.subjects (generation, partner_id);
create index subjects_waiting on screening.subjects (generation, changed_at);

-- How far the sweep of a partner has come, which adds the subjects that no request has added.
create table screening.sweeps (
  partner_id uuid not null references access.partners (id),
  generation integer not null,
  kind text not null check (kind in ('customer', 'beneficiary', 'partner', 'person')),
  after_id uuid not null,
  ended_at timestamptz,
  primary key (partner_id, generation)
);
select public.shard('screening.sweeps');

create table screening.hits (
  partner_id uuid not null references access.partners (id), id uuid not null,
  subject_kind text not null, subject_id uuid not null,
  role text not null, -- the name of the subject: fullName, legalName, tradingName, owner1 to owner5, name.
  source text not null, entry_id text not null, entry_digest text not null,
  score integer not null check (score between 0 and 100),
  detail_sealed bytea not null, -- JSON: the name, the listed name, and the words that matched.
  status text not null check (status in ('open', 'cleared', 'confirmed', 'gone')),
  cause text not null check (cause in ('name', 'list')), -- a name was written, or a list was loaded.
  generation integer not null, -- the lists that opened it; ended_generation: those by which it ended.
  replaces uuid,
  opened_at timestamptz not null,
  decided_at timestamptz, decided_by text,
  ended_generation integer, ended_at timestamptz,
  end_reason text check (end_reason in ('entry_removed', 'entry_changed', 'name_changed')),
  proposal text check (proposal in ('clear', 'confirm')), -- of one person, until another decides.
  proposed_by text, proposed_at timestamptz,
  name_number integer not null default 0, -- of the names that a role had: two can match one entry at a time.
  account text, -- IBAN or wallet of a beneficiary, account of a payer. Null: a customer, or unknown.
  primary key (partner_id, id),
  check ((ended_at is null) = (end_reason is null)),
  check ((proposal is null) = (proposed_by is null)),
  check (status not in ('open', 'gone') or decided_at is null),
  check (status <> 'gone' or ended_at is not null),
  check (status <> 'open' or ended_at is null)
);
select public.shard('screening.hits');
create index hits_open on screening.hits (opened_at, id) where status = 'open';
create index hits_by_generation on screening.hits (generation) where cause = 'list';
create index hits_ended on screening.hits (ended_generation) where ended_generation is not null;
-- A name has one hit on an entry at a time.
create unique index hits_standing on screening.hits (partner_id, subject_kind, subject_id, role, source, entry_id, name_number)
  where ended_at is null;
create index hits_by_account on screening.hits (partner_id, account) where account is not null and ended_at is null;
-- Earlier decisions about the same entry, for the person who decides.
create index hits_by_entry on screening.hits (partner_id, source, entry_id) where decided_at is not null;

-- Rows are only added.
create table screening.decisions (
  partner_id uuid not null,
  hit_id uuid not null,
  sequence integer not null,
  kind text not null check (kind in ('proposed', 'decided')),
  outcome text not null check (outcome in ('clear', 'confirm')),
  actor text not null, note text not null,
  generation integer not null, -- the lists by which the person decided.
  decided_at timestamptz not null,
  primary key (partner_id, hit_id, sequence),
  foreign key (partner_id, hit_id) references screening.hits (partner_id, id)
);
select public.shard('screening.decisions');

-- A subject is screened under every name that it had: a new name does not free payments that wait.
create table screening.earlier_names (
  partner_id uuid not null references access.partners (id), id uuid not null,
  subject_kind text not null check (subject_kind in ('customer', 'beneficiary', 'partner', 'person', 'payer')), subject_id uuid not null,
  role text not null, -- as in hits.
  name_sealed bytea not null, -- names are personal data.
  replaced_at timestamptz not null,
  primary key (partner_id, id)
);
select public.shard('screening.earlier_names');
create index earlier_names_by_subject on screening.earlier_names (partner_id, subject_id);

-- Matches of common names that a second datum has excluded, which an operator counts and shows to its regulator.
create table screening.exclusions (
  partner_id uuid not null references access.partners (id),
  subject_kind text not null, subject_id uuid not null,
  role text not null, source text not null, entry_id text not null,
  score integer not null check (score between 0 and 100),
  reason text not null check (reason in ('birth', 'country')),
  generation integer not null, -- the lists that the name was compared with.
  excluded_at timestamptz not null,
  primary key (partner_id, subject_kind, subject_id, role, source, entry_id)
);
select public.shard('screening.exclusions');

-- IBANs and wallets of confirmed payees, and listed addresses. Payments of every partner to or from them wait.
create table screening.frozen_accounts (
  account text not null,
  by_partner_id uuid not null, by_hit_id uuid not null,
  primary key (account, by_partner_id, by_hit_id)
);
select public.replicate('screening.frozen_accounts');
