-- Banks by files: instant payments are found without reading the credit transfers that wait, and a file says why it is late.
-- Why: an instant payment goes within a fraction of a second, while thousands of credit transfers wait for their window.
-- Processes of the version before may run: they have no such connector.
-- Locks: exclusive, for an instant, on tables that this version is the first to use.
create index iso_instructions_queued_by_scheme on rails.iso_instructions (connector, scheme_applied, due_at, id)
  where status = 'Queued';
drop index rails.iso_instructions_queued;
alter table rails.iso_files add column problem text, add column attempts integer not null default 0;
create index iso_files_newest on rails.iso_files (connector, made_at);
create index iso_recalls_by_file on rails.iso_recalls (file_id) where file_id is not null;
