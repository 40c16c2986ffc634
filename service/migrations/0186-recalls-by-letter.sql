-- Recalls for banks that take no camt.055: people send a letter.
-- Why: most banks take no request by a file, so that a recall never left.
-- Processes of the version before may run: they send such a recall in a file, as they do today, and show the cases.
-- Locks: ACCESS EXCLUSIVE on cases.cases while its rows are checked; a column without a default rewrites nothing.
alter table rails.iso_recalls add column told_at timestamptz;
alter table cases.cases drop constraint cases_kind_check;
alter table cases.cases add constraint cases_kind_check check (kind in
  ('unknown_payment', 'contradiction', 'amount_differs', 'credit_reversed', 'bank_fee', 'doubled',
    'unknown_debit', 'file_unreadable', 'file_refused', 'message_differs', 'statement_gap', 'statement_overlap',
    'sum_differs', 'payment_missing', 'foreign_currency', 'entry_unclear', 'unexplained',
    'account_blocked', 'sanctions_hold', 'announced_missing', 'payee_mismatch', 'safeguarding', 'customer_not_verified',
    'monitoring_alert', 'recall_letter'));
