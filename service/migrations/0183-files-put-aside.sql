-- Files of banks that were put aside and are taken after all, by the decision of two persons.
-- Why: a bank that uses a message id again, or whose sums are wrong, left the entries of the file unread.
-- Processes of the version before may run: they do not read the column.
-- Locks: a column without a default rewrites nothing.
alter table rails.iso_messages add column released_at timestamptz;
create index iso_messages_released on rails.iso_messages (connector) where released_at is not null and state = 'Aside' and taken_at is null;
