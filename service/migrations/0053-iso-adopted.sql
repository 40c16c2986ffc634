-- Payments in files that a bank has and that this database did not know: it was restored to a time before they were made.
-- Why: such a payment is submitted again by its payout, and must not go into a second file.
-- Processes of the version before may run: they have no such connector.
-- Locks: none on existing data; everything here is new.
create table rails.iso_adopted (
  connector text not null,
  instruction_id uuid not null,
  attempt integer not null check (attempt > 0),
  file_id uuid not null references rails.iso_files (id),
  batch_id text not null,
  primary key (connector, instruction_id, attempt)
);
select public.replicate('rails.iso_adopted');
