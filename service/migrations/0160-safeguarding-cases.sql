-- Cases about a day on which the clients' money and the designated accounts do not balance.
-- Why: two persons decide about each (docs/decisions/0089-safeguarding.md).
-- Processes of the version before may run: they list these cases and let one person close them with a note.
-- Locks: ACCESS EXCLUSIVE on cases.cases while its rows are checked: a case is a rare row.
alter table cases.cases drop constraint cases_kind_check;
alter table cases.cases add constraint cases_kind_check check (kind in
  ('unknown_payment', 'contradiction', 'amount_differs', 'credit_reversed', 'bank_fee', 'doubled',
    'unknown_debit', 'file_unreadable', 'file_refused', 'message_differs', 'statement_gap', 'statement_overlap',
    'sum_differs', 'payment_missing', 'foreign_currency', 'entry_unclear', 'unexplained',
    'account_blocked', 'sanctions_hold', 'announced_missing', 'safeguarding'));
-- money that left and that no case had decided about at the end of a day.
create index cases_debits on cases.cases (opened_at) where booked < 0;
