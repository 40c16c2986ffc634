-- Changes that wait for a second person, and overdue reviews, have owners and notes as all else in the queue has.
-- Processes of the version before may run: they know neither kind, and end such an assignment as one of a thing that no longer waits.
-- Locks: staff.assignments, for an instant: it has as many rows as people of staff look into.
alter table staff.assignments drop constraint assignments_kind_check;
alter table staff.assignments add constraint assignments_kind_check
  check (kind in ('hit', 'payout', 'deposit', 'pool', 'connector', 'change', 'review'));
