-- The payer of an instruction for a file-based bank, sealed: what its file says about the customer (Regulation (EU) 2023/1113).
-- Why: files named the owner of the bank account as the only payer. A file that is made again must have the same bytes, although
-- the customer has changed meanwhile.
-- Null: an instruction of the version before, of a bank that is told no payer, or of an erased customer.
-- Processes of the version before may run: they write null, and make files without the payer.
-- Locks: rails.iso_instructions for an instant (a column without a default).
alter table rails.iso_instructions add column payer_sealed bytea;
