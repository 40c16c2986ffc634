-- Deposits that wait for a decision about a name on a sanctions list: of their customer, or of who paid.
-- Why: money of a listed person must not be made available. It stands in suspense with a case, whose id is that of the deposit.
-- Processes of the version before may run: they credit such money at once, and know neither the status nor the case, so that lists
-- are loaded once none of them runs.
-- Locks: exclusive on deposits while their statuses are checked (a scan, no rewrite); for an instant on cases and subjects, of
-- which there are few.
alter table deposits.deposits
  add column screening_since timestamptz,
  -- when a worker looks again whether the names were decided.
  add column screening_due_at timestamptz;
alter table deposits.deposits drop constraint deposits_status_check;
alter table deposits.deposits add constraint deposits_status_check check (status in
  ('Created', 'Initiated', 'Submitted', 'Accepted', 'Screening', 'Completed', 'Failed', 'Expired'));
create index deposits_screening_due on deposits.deposits (screening_due_at) where screening_due_at is not null;
create index deposits_in_screening on deposits.deposits (screening_since) where screening_since is not null;

-- `payer`: who paid a deposit that waits; its id is that of the deposit.
alter table screening.subjects drop constraint subjects_kind_check;
alter table screening.subjects add constraint subjects_kind_check check (kind in ('customer', 'beneficiary', 'payer'));

alter table cases.cases drop constraint cases_kind_check;
alter table cases.cases add constraint cases_kind_check check (kind in
  ('unknown_payment', 'contradiction', 'amount_differs', 'credit_reversed', 'bank_fee', 'doubled',
    'unknown_debit', 'file_unreadable', 'file_refused', 'message_differs', 'statement_gap', 'statement_overlap',
    'sum_differs', 'payment_missing', 'foreign_currency', 'entry_unclear', 'unexplained',
    'account_blocked', 'sanctions_hold'));
-- `released`: the names were cleared, and the deposit was credited.
alter table cases.cases drop constraint cases_resolution_check;
alter table cases.cases add constraint cases_resolution_check check (resolution in
  ('credited', 'reversed', 'written_off', 'noted', 'matched', 'booked_to_fees', 'returned', 'gone', 'released'));
alter table cases.decisions drop constraint decisions_kind_check;
alter table cases.decisions add constraint decisions_kind_check check (kind in ('proposed', 'replaced', 'withdrawn', 'rejected',
  'expired', 'approved', 'noted', 'gone', 'released', 'return_refused', 'return_rejected', 'return_booked'));
