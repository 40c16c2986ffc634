-- Banks report whether the name of a payee is that of its account (verification of payee).
-- Why: the result is in the timeline of the payment once, and is the reason of a refusal that has no other one. A report with names that do
-- not match is a case, because a bank may wait for the release of the file.
-- Processes of the version before may run: they write null, and fail only a case of the new kind, which a process of this version opens.
-- Locks: ACCESS EXCLUSIVE on rails.iso_instructions, payouts.payouts and cases.cases for the change of the catalogue. Of the constraints only
-- that of the few cases reads rows.
alter table rails.iso_instructions add column payee_check text;
alter table payouts.payouts add column payee_check text;
alter table rails.iso_instructions add constraint iso_instructions_payee_check_check
  check (payee_check in ('match', 'close_match', 'no_match', 'unchecked')) not valid;
alter table payouts.payouts add constraint payouts_payee_check_check
  check (payee_check in ('match', 'close_match', 'no_match', 'unchecked')) not valid;
alter table cases.cases drop constraint cases_kind_check;
alter table cases.cases add constraint cases_kind_check check (kind in
  ('unknown_payment', 'contradiction', 'amount_differs', 'credit_reversed', 'bank_fee', 'doubled',
    'unknown_debit', 'file_unreadable', 'file_refused', 'message_differs', 'statement_gap', 'statement_overlap',
    'sum_differs', 'payment_missing', 'foreign_currency', 'entry_unclear', 'unexplained',
    'account_blocked', 'sanctions_hold', 'announced_missing', 'payee_mismatch'));
