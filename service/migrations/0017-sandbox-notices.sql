-- The sandbox bank forgets a notice once it is acknowledged, as a bank's queue does.
-- Why: to keep each for ever, marked, cost a new row and its index entries for every notice, a sixth of what PostgreSQL did
-- for a deposit, and nothing reads them. Equally old notices are told in the order of their ids, which the index now has.
-- Locks: exclusive on the bank's notices while the acknowledged ones are deleted, a second or so a million.

delete from rails.sandbox_notices where acknowledged_at is not null;
drop index rails.sandbox_notices_due;
drop index rails.sandbox_notices_due_by_partner;
alter table rails.sandbox_notices drop column acknowledged_at;
create index sandbox_notices_due on rails.sandbox_notices (due_at, id);
