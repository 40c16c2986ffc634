-- Rules for countries under embargo: the list `countries`, which persons write; and lists of politically exposed persons, `pep:NAME`.
-- Why: an institution refuses or reviews payouts to, deposits from and customers of some countries, and each change must be known later.
-- Processes of the version before may run: they read the new lists, compare no country, and take a politically exposed person
-- for a listed one, so that rules are set and such lists loaded once none of them runs.
-- Locks: exclusive on lists, of which there are few, for an instant.
alter table screening.lists drop constraint lists_source_check;
alter table screening.lists add constraint lists_source_check check (source in ('un', 'eu', 'ofac', 'countries') or source like 'pep:%');
-- Without rules the list is empty, and so is a removed list of politically exposed persons.
alter table screening.lists drop constraint lists_entries_check;
alter table screening.lists add constraint lists_entries_check check (entries > 0 or source = 'countries' or source like 'pep:%');
