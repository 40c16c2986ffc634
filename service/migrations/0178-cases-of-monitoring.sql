-- Cases of alerts of monitoring.
-- Why: two persons decide what a pattern means (issue 28; decision 0094).
-- Processes of the version before may run: they show such cases, and write none.
-- Locks: ACCESS EXCLUSIVE on cases.cases while its rows are checked.
alter table cases.cases drop constraint cases_kind_check;
alter table cases.cases add constraint cases_kind_check check (kind in
  ('unknown_payment', 'contradiction', 'amount_differs', 'credit_reversed', 'bank_fee', 'doubled',
    'unknown_debit', 'file_unreadable', 'file_refused', 'message_differs', 'statement_gap', 'statement_overlap',
    'sum_differs', 'payment_missing', 'foreign_currency', 'entry_unclear', 'unexplained',
    'account_blocked', 'sanctions_hold', 'announced_missing', 'payee_mismatch', 'safeguarding', 'customer_not_verified',
    'monitoring_alert'));
