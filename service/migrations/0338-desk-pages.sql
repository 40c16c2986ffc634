-- Pages of the desk about a partner, a customer and a payee, and the numbers of compliance: notes of staff, and the indexes that these pages read.
-- The indexes of decided cases and hits hold all that the numbers read, so that a month is read from the index alone: about 90 bytes for each decision.
-- The others cost one entry (about 60 bytes) for each case, hit and alert; cases that are decided leave `cases_open_of_partner`.
-- Locks: SHARE on cases.cases, screening.hits, monitoring.alerts and beneficiaries.beneficiaries while the indexes are built, about a second for a million rows each.

create index cases_open_of_partner on cases.cases (partner_id, opened_at, id) where resolved_at is null;
create index cases_decided on cases.cases (resolved_at) include (kind, resolution, opened_at) where resolved_at is not null;
-- Alerts of monitoring alone, with their ids, by which their rules are found.
create index cases_alerts_decided on cases.cases (resolved_at, id) include (partner_id, resolution, disposition)
  where kind = 'monitoring_alert' and resolved_at is not null;

create index hits_by_subject on screening.hits (partner_id, subject_id, id);
create index hits_open_of_partner on screening.hits (partner_id, opened_at, id) where status = 'open';
create index hits_decided on screening.hits (decided_at) include (source, status, opened_at) where decided_at is not null;

create index alerts_about on monitoring.alerts (partner_id, subject_id, id);

-- What staff write about a partner, a customer or a payee. Partners read none. Rows are only added, and erased with the person.
create table staff.notes (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  kind text not null check (kind in ('partner', 'customer', 'payee')),
  subject_id uuid not null,
  author_id uuid not null, author_name text not null, -- the name stands beside it, because the account may be removed.
  note text not null,
  made_at timestamptz not null,
  primary key (partner_id, id)
);
select public.shard('staff.notes');
alter table staff.notes add constraint notes_note_length check (char_length(note) between 1 and 500);
create index notes_of_subject on staff.notes (partner_id, kind, subject_id, id);

