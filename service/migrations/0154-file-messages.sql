-- The message of a file for a bank.
-- Why: the files of a bank have a profile, and recalls name the message that a payment was in. Earlier files are pain.001.001.09.
-- Processes of the version before may run: they write the default, and make files of the profile that they know.
-- Locks: ACCESS EXCLUSIVE on rails.iso_files for the change of the catalogue.
alter table rails.iso_files add column message_name text not null default 'pain.001.001.09';
