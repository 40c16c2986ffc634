-- Who decides which kind of case or hit, where two admins have changed it, and why an alert ended.
-- Why: compliance decides what its rules and lists find, and its numbers count why alerts end.
-- Processes of the version before may run: they decide by the roles of before, and end an alert without a disposition.
-- Locks: cases.cases and screening.hits, shared with reads, while their partial indexes of open rows are built; cases.cases exclusively for an instant.

create table staff.deciders (
  kind text primary key, -- of a case, or `screening_hit`.
  -- An admin always remains, so that each kind has a role that decides it.
  roles text[] not null,
  set_by text not null, set_at timestamptz not null,
  constraint deciders_roles_check check ('admin' = any(roles) and roles <@ array['support', 'compliance', 'finance', 'admin'])
);
select public.replicate('staff.deciders');

-- Null: its kind has none, no person has decided it, or a version before has.
alter table cases.cases add column disposition text;
alter table cases.cases add constraint cases_disposition_check check (disposition in ('false_positive', 'explained', 'watched', 'suspicious_reported',
  'fraud', 'unexplained'));

-- The queue of some kinds, and its counts.
create index cases_open_by_kind on cases.cases (kind, opened_at, id) where resolved_at is null;
-- Hits about one entry that persons decide together.
create index hits_open_by_entry on screening.hits (partner_id, source, entry_id, id) where status = 'open';
