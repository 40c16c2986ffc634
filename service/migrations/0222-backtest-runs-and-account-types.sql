-- Backtests of rules of monitoring that persons ask for at the desk, and a worker runs; and the types of American accounts.
-- Why: a backtest can take minutes, which no request of a page may hold. Banks in the United States ask whether an account is a checking or a
-- savings account, and a file of payments finds its payees by domestic numbers.
-- The runs belong to the operator, as the rules do: they are replicated.
-- Processes of the version before may run: they do not read the table, and a run waits for a process of this version. They leave the
-- columns empty: a payout that they accept or hand to a bank names no type.
-- Locks: for an instant exclusive on beneficiaries, payouts and instructions; writes of beneficiaries wait while the index is made.
create table monitoring.backtest_runs (
  id uuid not null,
  rule_id uuid not null,
  version integer not null,
  -- the first day, and the day after the last one, UTC.
  from_day date not null,
  until_day date not null check (until_day > from_day),
  asked_by text not null,
  asked_at timestamptz not null,
  -- how many transactions the attempt under way has read.
  transactions bigint not null,
  attempts integer not null,
  -- a worker has it until then, and it is due again. Null: it has ended.
  due_at timestamptz,
  lease_id uuid,
  -- why it has failed. Null: it has not.
  problem text check (problem in ('too_many', 'failed')),
  ended_at timestamptz,
  primary key (id),
  check ((due_at is null) = (ended_at is not null)),
  check (problem is null or ended_at is not null),
  check (lease_id is null or due_at is not null)
);
select public.replicate('monitoring.backtest_runs');
create index backtest_runs_of_rule on monitoring.backtest_runs (rule_id, id);
create index backtest_runs_due on monitoring.backtest_runs (due_at) where due_at is not null;

-- Null: it was not stated, or the account is not American.
alter table beneficiaries.beneficiaries add column account_type text;
alter table beneficiaries.beneficiaries add constraint beneficiaries_account_type_check
  check (account_type in ('Checking', 'Savings')) not valid;
create index beneficiaries_by_domestic_account on beneficiaries.beneficiaries (partner_id, domestic_account)
  where removed_at is null and domestic_account is not null;
-- As it was when the payout was accepted, and when the bank's connector took it.
alter table payouts.payouts add column creditor_account_type text;
alter table rails.iso_instructions add column creditor_account_type text;
