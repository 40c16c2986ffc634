-- What incoming payments lack about their payers, what the operator's rules do about it, and what was decided.
-- Why: Regulation (EU) 2023/1113, articles 7 and 8: a payee's institution notices missing data, and executes, asks or rejects by the
-- risk; it counts which banks fail repeatedly.
-- `region`: where the payer's bank is, inside the European Economic Area or outside.
-- Processes of the version before may run: they check nothing. One that looks at a deposit that waits for an answer credits it: set rules
-- once none of them runs.
-- Locks: cases.cases for an instant: rows of before satisfy the wider rule.
create table deposits.payer_rules (
  region text not null check (region in ('inside', 'outside')),
  currency text not null,
  -- the rule is for amounts above this, in minor units.
  above bigint not null check (above >= 0),
  measure text not null check (measure in ('accept', 'ask', 'reject')),
  -- how long the payer's bank has for an answer.
  answer_days integer not null check (answer_days between 1 and 90),
  set_at timestamptz not null,
  primary key (region, currency, above)
);
select public.replicate('deposits.payer_rules');

create table deposits.payer_checks (
  partner_id uuid not null,
  -- the deposit.
  id uuid not null,
  -- BIC of eight characters, or the country and the bank code of the IBAN. Empty: neither is known.
  bank text not null,
  region text not null check (region in ('inside', 'outside')),
  currency text not null,
  amount bigint not null,
  -- names of data, with spaces between: name, account, address.
  lacks text not null check (lacks <> ''),
  measure text not null check (measure in ('accept', 'ask', 'reject')),
  -- until then the money waits for an answer. Null: it does not.
  answer_by timestamptz check ((answer_by is not null) = (measure = 'ask')),
  decision text check (decision is null or (decision in ('received', 'refused') and measure = 'ask')),
  decided_at timestamptz check ((decided_at is null) = (decision is null)),
  found_at timestamptz not null,
  primary key (partner_id, id),
  foreign key (partner_id, id) references deposits.deposits (partner_id, id)
);
select public.shard('deposits.payer_checks');
create index payer_checks_by_time on deposits.payer_checks (found_at);
create index payer_checks_waiting on deposits.payer_checks (answer_by) where decision is null and measure = 'ask';

alter table cases.cases drop constraint cases_kind_check;
alter table cases.cases add constraint cases_kind_check check (kind in
  ('unknown_payment', 'contradiction', 'amount_differs', 'credit_reversed', 'bank_fee', 'doubled',
    'unknown_debit', 'file_unreadable', 'file_refused', 'message_differs', 'statement_gap', 'statement_overlap',
    'sum_differs', 'payment_missing', 'foreign_currency', 'entry_unclear', 'unexplained',
    'account_blocked', 'sanctions_hold', 'announced_missing', 'payee_mismatch', 'safeguarding', 'customer_not_verified',
    'monitoring_alert', 'recall_letter', 'payer_data_missing')) not valid;
