-- Owners of cases, and notes about them.
-- Why: two persons of staff looked into the same case, and what one found out was in no place that the other reads.
-- Processes of the version before may run: they write neither the owner nor the kinds that are new, and keep what they do not know.
-- Locks: cases.decisions for the check, which reads it once; writes to cases wait while two indexes are built, of the open ones only. Columns
-- without a default rewrite nothing.
alter table cases.cases
  -- an account of staff. Its name stands beside it, because the account may be removed.
  add column owner_id uuid,
  add column owner_name text,
  add column owned_since timestamptz;
alter table cases.cases add constraint cases_owner_check
  check ((owner_id is null) = (owner_name is null) and (owner_id is null) = (owned_since is null)) not valid;
alter table cases.cases validate constraint cases_owner_check;
create index cases_owned on cases.cases (owner_id, opened_at, id) where resolved_at is null and owner_id is not null;
create index cases_unowned on cases.cases (opened_at, id) where resolved_at is null and owner_id is null;

-- `remarked`: a note that decides nothing.
alter table cases.decisions drop constraint decisions_kind_check;
alter table cases.decisions add constraint decisions_kind_check check (kind in ('proposed', 'replaced', 'withdrawn', 'rejected',
  'expired', 'approved', 'noted', 'gone', 'released', 'return_refused', 'return_rejected', 'return_booked',
  'taken', 'given', 'handed_back', 'remarked'));
