-- Why a hit was decided, who approved a decision, and what a refusal reached, each in a column of its own.
-- Why: the numbers of compliance count why hits end, and pages name both persons in the language of the reader.
-- Processes of the version before may run: they decide a hit without a disposition, and write both names into one text.
-- Locks: screening.hits, shared with reads, while its index of decided hits is built, about a second for a million rows; exclusively for an instant, as
-- screening.decisions, cases.cases and cases.decisions.

-- Null: no person has decided it, or a version before has.
alter table screening.hits add column disposition text;
alter table screening.decisions add column disposition text;
alter table screening.hits add constraint hits_disposition_check check (disposition in ('name_differs', 'birth_differs', 'country_differs',
  'document_differs', 'kind_differs', 'licensed', 'not_concerned', 'data_agree', 'account_agrees', 'not_excluded', 'prohibited'));
alter table screening.decisions add constraint decisions_disposition_check check (disposition in ('name_differs', 'birth_differs', 'country_differs',
  'document_differs', 'kind_differs', 'licensed', 'not_concerned', 'data_agree', 'account_agrees', 'not_excluded', 'prohibited'));

-- The second person. Null: one person decided alone, or a version before wrote both into the column of the first.
alter table screening.hits add column approved_by text;
alter table cases.cases add column approved_by text;

-- The numbers read a month of decided hits from this index alone. It takes the place of the one without the disposition.
create index hits_decided_as on screening.hits (decided_at) include (source, status, disposition, opened_at) where decided_at is not null;
drop index screening.hits_decided;

-- What a refusal reached: payouts that it stopped, and those that were already sent. Null: another step, or a version before wrote it into the note.
alter table cases.decisions add column stopped integer, add column already_sent integer;

-- How many facts of a type a partner had in an hour. After the first ones an entry counts them.
create table inbox.counts (
  partner_id uuid not null,
  type text not null,
  hour timestamptz not null, -- its beginning.
  told integer not null check (told > 0),
  primary key (partner_id, type, hour)
);
select public.shard('inbox.counts');
