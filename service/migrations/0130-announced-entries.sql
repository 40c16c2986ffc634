-- A bank reports an entry in several messages and words each otherwise. An entry knows which messages announced it, and by which
-- other keys they named it; an entry that was announced and is not on its statement has a case.
-- Why: entries were joined only by an identical reference of the bank, so that one credit counted twice (issue 25).
-- Processes of the version before may run: entries that they write have `announced` 0, which counts as not known, and keys without a day.
-- They do not read aliases, so that files of a bank are exchanged by one version at a time.
-- Locks: exclusive, for an instant, on iso_entries (columns without a rewrite) and cases; writes to iso_entries wait while its two
-- indexes are built.
alter table rails.iso_entries
  -- by which kinds of messages, added up: 1 camt.052, 2 camt.054.
  add column announced smallint not null default 0,
  -- since when a case says that its statement does not have it.
  add column absent_since timestamptz;
create index iso_entries_unlisted on rails.iso_entries (partner_id, connector, account, currency, amount, announced, booked_on)
  where statement_id is null;
create index iso_entries_listed on rails.iso_entries (partner_id, connector, account, currency, amount, announced, booked_on)
  where statement_id is not null;

-- Keys under which other messages named an entry.
create table rails.iso_entry_aliases (
  partner_id uuid not null,
  connector text not null,
  account text not null,
  currency text not null,
  entry_key text not null,
  entry_id uuid not null,
  primary key (partner_id, connector, account, currency, entry_key)
);
select public.shard('rails.iso_entry_aliases');

alter table cases.cases drop constraint cases_kind_check;
alter table cases.cases add constraint cases_kind_check check (kind in
  ('unknown_payment', 'contradiction', 'amount_differs', 'credit_reversed', 'bank_fee', 'doubled',
    'unknown_debit', 'file_unreadable', 'file_refused', 'message_differs', 'statement_gap', 'statement_overlap',
    'sum_differs', 'payment_missing', 'foreign_currency', 'entry_unclear', 'unexplained',
    'account_blocked', 'sanctions_hold', 'announced_missing'));
-- `announced`: the entry of the case is one that was announced, and that the ledger has.
alter table cases.cases drop constraint cases_resolution_check;
alter table cases.cases add constraint cases_resolution_check check (resolution in
  ('credited', 'reversed', 'written_off', 'noted', 'matched', 'booked_to_fees', 'returned', 'gone', 'released', 'announced'));
