-- Cases whose money a partner bears.
-- Why: charges of a bank for a partner's payment were borne by the operator, or corrected by hand.
-- Processes of the version before may run: they read the resolution as a text.
-- Locks: cases.cases for the check, which reads it once.
alter table cases.cases drop constraint cases_resolution_check;
alter table cases.cases add constraint cases_resolution_check check (resolution in
  ('credited', 'reversed', 'written_off', 'noted', 'matched', 'booked_to_fees', 'returned', 'gone', 'released', 'announced',
    'charged'));
