-- Monitoring of transactions: rules in versions, their backtests, and what they found (decision 0094). Rules and backtests belong to the operator:
-- they are replicated. A version never changes, except for the times at which it was proposed, turned on and turned off.
-- Locks: none, everything is new.

create schema monitoring;

create table monitoring.rules (
  id uuid not null,
  version integer not null check (version > 0), -- from 1, one more for each change.
  name text not null,
  kind text not null check (kind in ('velocity', 'structuring', 'new_payee', 'dormant', 'round_trip', 'country', 'many_payers', 'many_customers',
    'failures')),
  settings text not null, -- JSON: what the kind needs, and the partners of the rule.
  made_by text not null, made_at timestamptz not null,
  proposed_by text, proposed_at timestamptz,
  on_by text, on_since timestamptz,
  off_proposed_by text, off_proposed_at timestamptz,
  off_by text, off_since timestamptz,
  primary key (id, version),
  constraint rules_on_after_proposal check (on_since is null or proposed_at is not null),
  constraint rules_off_after_on check (off_since is null or on_since is not null)
);
select public.replicate('monitoring.rules');

create table monitoring.backtests (
  rule_id uuid not null,
  version integer not null,
  id uuid not null,
  from_day date not null, until_day date not null check (until_day > from_day), -- the first day, and the day after the last one, UTC.
  transactions bigint not null, hits bigint not null, subjects bigint not null,
  ran_by text not null, ran_at timestamptz not null,
  primary key (rule_id, version, id)
);
select public.replicate('monitoring.backtests');

-- How far the transactions of a partner were read.
create table monitoring.progress (
  partner_id uuid not null references access.partners (id),
  changed_at timestamptz not null, -- of the last transaction that was read, in the order of changes.
  transaction_id uuid not null,
  primary key (partner_id)
);
select public.shard('monitoring.progress');

create table monitoring.alerts (
  partner_id uuid not null references access.partners (id), id uuid not null,
  rule_id uuid not null,
  version integer not null,
  subject_id uuid not null, -- a customer, or the partner's own id.
  opened_at timestamptz not null,
  primary key (partner_id, id)
);
select public.shard('monitoring.alerts');
create index alerts_by_subject on monitoring.alerts (partner_id, rule_id, subject_id, id);

-- One row for each transaction that a rule has found.
create table monitoring.hits (
  partner_id uuid not null references access.partners (id),
  rule_id uuid not null, transaction_id uuid not null, alert_id uuid not null,
  reference text not null,
  evidence text not null, -- JSON: count, sum and references of what made it a hit.
  found_at timestamptz not null,
  holds boolean not null default false, -- the payment waits until two persons have decided the alert, if the bank does not have it.
  primary key (partner_id, rule_id, transaction_id)
);
select public.shard('monitoring.hits');
create index hits_by_alert on monitoring.hits (partner_id, alert_id, transaction_id);
create index hits_by_transaction on monitoring.hits (partner_id, transaction_id);

-- Backtests that staff ask for and a worker runs: one can take minutes.
create table monitoring.backtest_runs (
  id uuid not null,
  rule_id uuid not null,
  version integer not null,
  from_day date not null, until_day date not null check (until_day > from_day), -- as in backtests.
  asked_by text not null, asked_at timestamptz not null,
  transactions bigint not null, -- read by the attempt under way.
  attempts integer not null,
  due_at timestamptz, -- a claim moves it to the end of the lease. Null: it has ended.
  lease_id uuid,
  problem text check (problem in ('too_many', 'failed')), -- null: it has not failed.
  ended_at timestamptz,
  primary key (id),
  check ((due_at is null) = (ended_at is not null)),
  check (problem is null or ended_at is not null),
  check (lease_id is null or due_at is not null)
);
select public.replicate('monitoring.backtest_runs');
create index backtest_runs_of_rule on monitoring.backtest_runs (rule_id, id);
create index backtest_runs_due on monitoring.backtest_runs (due_at) where due_at is not null;
