-- Indexes by which staff find a file of a bank.
-- Why: a bank asks about a file by its name or by the id of its message, and no search may read all files.
-- Processes of the version before may run: they do not read by these indexes.
-- Locks: writes of files of banks wait while the indexes are built, of one row for each file.
create index iso_messages_by_name on rails.iso_messages (file_name, received_at);
create index iso_messages_by_message on rails.iso_messages (message_id, received_at) where message_id is not null;
create index iso_files_by_name on rails.iso_files (name, made_at);
create index iso_files_by_message on rails.iso_files (message_id, made_at);
