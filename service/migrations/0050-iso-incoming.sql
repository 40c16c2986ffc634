-- Messages of a bank by files: who takes them now, which files have left the bank's folder, and entries by the bank's own reference.
-- Why: one process at a time takes the files of a bank; a booking that was announced as a sum is told from one by its payments; and the
-- reversal of a credit is found by the references of that credit.
-- Processes of the version before may run: they take no files.
-- Locks: exclusive, for an instant, on tables of banks by files, which no process of the version before uses.
create table rails.iso_incoming (
  connector text primary key,
  -- who takes its files, and until when no other may.
  lease_id uuid,
  leased_until timestamptz
);
select public.replicate('rails.iso_incoming');

-- when the file was archived and left the bank's folder; null: it may still be there.
alter table rails.iso_messages add column finished_at timestamptz;

-- the bank's reference of the booking, whose payments are several rows; null: it has none.
alter table rails.iso_entries add column booking text;
-- of a credit.
alter table rails.iso_entries add column end_to_end_id text;
create index iso_entries_by_booking on rails.iso_entries (partner_id, connector, account, currency, booking) where booking is not null;
create index iso_entries_by_end_to_end on rails.iso_entries (partner_id, connector, end_to_end_id) where end_to_end_id is not null;
create index iso_entries_waiting on rails.iso_entries (partner_id, connector, created_at) where kind = 'waiting';
-- a bank answers a whole file.
create index iso_instructions_by_file on rails.iso_instructions (file_id, id) where file_id is not null;
-- a recall is found by the payment that it asks back.
create index iso_recalls_by_instruction on rails.iso_recalls (instruction_id);
-- Nothing reads entries by their message, and a statement has a million of them.
drop index rails.iso_entries_of_message;
