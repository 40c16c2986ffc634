-- Screening: lists of sanctions, and the hits of names of customers, owners and beneficiaries on them.
-- Why: a payment to a listed person must wait until a person has decided.
-- Processes of the version before may run: they write no subjects. The sweep of each list adds what they have created.
-- Locks: none on existing data; everything here is new.
create schema screening;

-- One row for each list that was loaded. The newest row of a source is its list; the newest row of all names the state of all lists.
create table screening.lists (
  generation integer primary key check (generation > 0),
  source text not null check (source in ('un', 'eu', 'ofac')),
  published_at timestamptz not null,
  -- SHA-256 of the file.
  hash text not null,
  loaded_at timestamptz not null,
  loaded_by text not null,
  entries integer not null check (entries > 0),
  names integer not null,
  -- against the list of the source before it.
  added integer not null,
  changed integer not null,
  removed integer not null
);
select public.replicate('screening.lists');

-- An entry as it was from one generation on until another one changed or removed it.
create table screening.entries (
  source text not null,
  entry_id text not null,
  from_generation integer not null,
  until_generation integer,
  -- SHA-256 of detail.
  digest text not null,
  -- json: what the list says.
  detail text not null,
  primary key (source, entry_id, from_generation),
  check (until_generation > from_generation)
);
select public.replicate('screening.entries');

-- What is screened. Its names stay in the table of its module.
create table screening.subjects (
  partner_id uuid not null references access.partners (id),
  kind text not null check (kind in ('customer', 'beneficiary')),
  id uuid not null,
  -- the lists that its present names were screened against. 0: they were not screened yet.
  generation integer not null,
  -- a worker screens it until then.
  lease_id uuid,
  leased_until timestamptz,
  -- when its names were written, as far as this table knows; when they were screened last.
  changed_at timestamptz not null,
  screened_at timestamptz,
  primary key (partner_id, kind, id),
  check ((lease_id is null) = (leased_until is null))
);
create index subjects_due on screening.subjects (generation, partner_id);
select public.shard('screening.subjects');

-- How far the sweep of a partner has come, which adds the subjects that no request has added.
create table screening.sweeps (
  partner_id uuid not null references access.partners (id),
  generation integer not null,
  kind text not null check (kind in ('customer', 'beneficiary')),
  after_id uuid not null,
  ended_at timestamptz,
  primary key (partner_id, generation)
);
select public.shard('screening.sweeps');

create table screening.hits (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  subject_kind text not null,
  subject_id uuid not null,
  -- which name of the subject: fullName, legalName, tradingName, owner1 to owner5, name.
  role text not null,
  source text not null,
  entry_id text not null,
  entry_digest text not null,
  -- 0 to 100.
  score integer not null check (score between 0 and 100),
  -- json: the name, the listed name, and the words that matched. Sealed, because names are personal data.
  detail_sealed bytea not null,
  status text not null check (status in ('open', 'cleared', 'confirmed', 'gone')),
  -- a name that was written, or a list that was loaded.
  cause text not null check (cause in ('name', 'list')),
  -- the lists that opened it, and those by which it ended.
  generation integer not null,
  replaces uuid,
  opened_at timestamptz not null,
  decided_at timestamptz,
  decided_by text,
  ended_generation integer,
  ended_at timestamptz,
  end_reason text check (end_reason in ('entry_removed', 'entry_changed', 'name_changed')),
  -- what one person proposes, until another one decides.
  proposal text check (proposal in ('clear', 'confirm')),
  proposed_by text,
  proposed_at timestamptz,
  primary key (partner_id, id),
  check ((ended_at is null) = (end_reason is null)),
  check ((proposal is null) = (proposed_by is null)),
  check (status not in ('open', 'gone') or decided_at is null),
  check (status <> 'gone' or ended_at is not null),
  check (status <> 'open' or ended_at is null)
);
-- A name has one hit on an entry at a time.
create unique index hits_current on screening.hits (partner_id, subject_kind, subject_id, role, source, entry_id)
  where ended_at is null;
create index hits_open on screening.hits (opened_at, id) where status = 'open';
create index hits_by_generation on screening.hits (generation) where cause = 'list';
create index hits_ended on screening.hits (ended_generation) where ended_generation is not null;
select public.shard('screening.hits');

-- Rows are added and never changed.
create table screening.decisions (
  partner_id uuid not null,
  hit_id uuid not null,
  sequence integer not null,
  kind text not null check (kind in ('proposed', 'decided')),
  outcome text not null check (outcome in ('clear', 'confirm')),
  actor text not null,
  note text not null,
  -- the lists by which the person decided.
  generation integer not null,
  decided_at timestamptz not null,
  primary key (partner_id, hit_id, sequence),
  foreign key (partner_id, hit_id) references screening.hits (partner_id, id)
);
select public.shard('screening.decisions');
