-- Drops the two queues of mails that only the version before migration 0021 uses.
-- The text for Citus: no version before ran on a sharded database, so there are no views and no mails to move.
-- Locks: exclusive on users.mails and delivery.notices, which are dropped.

drop table users.mails;
drop table delivery.notices;
