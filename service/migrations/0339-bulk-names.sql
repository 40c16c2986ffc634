-- The name of a bulk: that of its file. Lists and approvals name the bulk by it.
-- Locks: ACCESS EXCLUSIVE on payouts.bulks for an instant.

alter table payouts.bulks add column name text;
alter table payouts.bulks add constraint bulks_name check (char_length(name) between 1 and 200);
