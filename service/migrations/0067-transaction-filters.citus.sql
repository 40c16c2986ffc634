-- Transactions: an index for each new filter of the list, and references in the order of their code points.
-- Why: a filter that few rows pass would read every row of the partner. A prefix is a range of an index only if its order is
-- that of code points, which the order of the database need not be. A reader of changes needs them in the order of their times.
-- Versions before the time of each step was kept left `updated_at` behind the timeline; those rows are brought up to it.
-- The text for Citus, which refuses a cast to `timestamptz` in an update: the cast depends on settings. It reads the parts of
-- the time, which the service writes as 2026-01-31T12:00:00.000Z.
-- Processes of the version before may run: they do not use the indexes.
-- Locks: writes to transactions wait while the indexes are built, each about a second for each million rows.

create index transactions_by_reference on transactions.transactions (partner_id, reference collate "C");
create index transactions_by_type on transactions.transactions (partner_id, type, id);
create index transactions_by_rail on transactions.transactions (partner_id, rail, id) where rail is not null;
create index transactions_by_end_to_end on transactions.transactions (partner_id, end_to_end_id, id)
  where end_to_end_id is not null;
create index transactions_by_amount on transactions.transactions (partner_id, currency, amount, id);

update transactions.transactions set updated_at = greatest(updated_at, make_timestamp(
  substr(timeline -> -1 ->> 'createdAt', 1, 4)::integer, substr(timeline -> -1 ->> 'createdAt', 6, 2)::integer,
  substr(timeline -> -1 ->> 'createdAt', 9, 2)::integer, substr(timeline -> -1 ->> 'createdAt', 12, 2)::integer,
  substr(timeline -> -1 ->> 'createdAt', 15, 2)::integer,
  rtrim(substr(timeline -> -1 ->> 'createdAt', 18), 'Z')::double precision) at time zone 'UTC');
create index transactions_by_change on transactions.transactions (partner_id, updated_at, id);
