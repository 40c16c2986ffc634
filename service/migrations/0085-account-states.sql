-- States of accounts: a balance, or the account of a customer, may be blocked for what comes in, for what goes out, or both, or closed.
-- Why: issue 19. A payment is judged by rows that its transaction reads anyway: the balance and the customer. `blocks` counts the
-- changes of state; a payment that was judged before a change does not commit after it (ledger.changeAccounts).
-- Processes of the version before may run: they do not know states, so accounts are blocked once none of them runs.
-- Locks: exclusive, for an instant, on accounts, customers and cases. Their rows, and those of cases, are read once for the new checks.
alter table ledger.accounts
  -- null: active.
  add column state text,
  -- null: 0. How often the state of the balance or of one of the partner's customers was changed, or one of them was erased.
  add column blocks integer;
alter table ledger.accounts add constraint accounts_state check (state in ('BlockedInbound', 'BlockedOutbound', 'Blocked', 'Closed'));
alter table ledger.accounts add constraint accounts_judged_by_state check (blocks >= 0);
alter table ledger.accounts add constraint accounts_closed_is_empty check (state <> 'Closed' or (posted = 0 and reserved = 0));
alter table customers.customers add column account_state text;
alter table customers.customers add constraint customers_account_state
  check (account_state in ('BlockedInbound', 'BlockedOutbound', 'Blocked', 'Closed'));

-- Who changed the state of which account, when and why. Rows are added only.
create table accounts.state_changes (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  -- of the account of a customer; null: of a balance.
  customer_id uuid,
  -- of a balance; null: of the account of a customer.
  currency text,
  from_state text not null check (from_state in ('Active', 'BlockedInbound', 'BlockedOutbound', 'Blocked')),
  to_state text not null check (to_state in ('Active', 'BlockedInbound', 'BlockedOutbound', 'Blocked', 'Closed')),
  reason text not null check (reason in ('Compliance', 'CourtOrder', 'CustomerRequest', 'Fraud', 'PartnerRequest', 'Other')),
  note text not null,
  -- the person who changed it. Partners do not see the name, nor the note.
  staff text not null,
  changed_at timestamptz not null,
  primary key (partner_id, id),
  check ((customer_id is null) <> (currency is null)),
  check (from_state <> to_state)
);
create index state_changes_of_account on accounts.state_changes (partner_id, currency, customer_id, id);
select public.shard('accounts.state_changes');

alter table cases.cases drop constraint cases_kind_check;
alter table cases.cases add constraint cases_kind_check
  check (kind in ('unknown_payment', 'contradiction', 'amount_differs', 'credit_reversed', 'bank_fee', 'doubled',
    'unknown_debit', 'file_unreadable', 'file_refused', 'message_differs', 'statement_gap', 'statement_overlap',
    'sum_differs', 'payment_missing', 'foreign_currency', 'entry_unclear', 'unexplained',
    'account_blocked'));
