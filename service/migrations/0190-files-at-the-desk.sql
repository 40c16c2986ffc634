-- Indexes of the pages that show files of banks and past results of reconciliation.
-- Why: staff read both at the desk, and no page may read all rows: few of a million files were put aside, and few looks are kept for good.
-- Processes of the version before may run: they do not read by these indexes.
-- Locks: writes of files of banks and of results of reconciliation wait while the indexes are built, of one row for each file, statement or
-- look.
create index iso_messages_aside on rails.iso_messages (connector, received_at) where state = 'Aside';
create index iso_statements_by_message on rails.iso_statements (message_id, id);
create index runs_of_statements on reconciliation.runs (connector, account, currency, first_at) where is_of_statement;
