-- Cases that end with the refusal of the payments that they hold.
-- Why: two persons release or refuse what a rule of monitoring holds (issue 28; decision 0105).
-- Processes of the version before may run: they read the resolution as a text, and refuse nothing.
-- Locks: ACCESS EXCLUSIVE on cases.cases while its rows are checked.
alter table cases.cases drop constraint cases_resolution_check;
alter table cases.cases add constraint cases_resolution_check check (resolution in
  ('credited', 'reversed', 'written_off', 'noted', 'matched', 'booked_to_fees', 'returned', 'gone', 'released', 'announced',
    'charged', 'refused'));
