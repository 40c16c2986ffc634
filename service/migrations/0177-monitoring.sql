-- Monitoring of transactions: rules in versions, their backtests, how far each partner was read, and what was found.
-- Why: patterns that no single payment shows are to be seen by a person and decided by two (issue 28; decision 0094).
-- Rules and backtests belong to the operator: they are replicated. A version never changes but for the times at which it was proposed,
-- was turned on and was turned off.
-- Processes of the version before may run: they do not read these tables.
-- Locks: none on tables that exist.
create schema monitoring;

create table monitoring.rules (
  id uuid not null,
  -- 1, then one more for each change.
  version integer not null check (version > 0),
  name text not null,
  kind text not null check (kind in ('velocity', 'structuring', 'new_payee', 'dormant', 'round_trip', 'country', 'many_payers')),
  -- JSON: what the kind needs, and the partners that it is for.
  settings text not null,
  made_by text not null,
  made_at timestamptz not null,
  proposed_by text,
  proposed_at timestamptz,
  on_by text,
  on_since timestamptz,
  off_proposed_by text,
  off_proposed_at timestamptz,
  off_by text,
  off_since timestamptz,
  primary key (id, version),
  constraint rules_on_after_proposal check (on_since is null or proposed_at is not null),
  constraint rules_off_after_on check (off_since is null or on_since is not null)
);
select public.replicate('monitoring.rules');

create table monitoring.backtests (
  rule_id uuid not null,
  version integer not null,
  id uuid not null,
  -- the first day, and the day after the last one, UTC.
  from_day date not null,
  until_day date not null check (until_day > from_day),
  transactions bigint not null,
  hits bigint not null,
  subjects bigint not null,
  ran_by text not null,
  ran_at timestamptz not null,
  primary key (rule_id, version, id)
);
select public.replicate('monitoring.backtests');

create table monitoring.progress (
  partner_id uuid not null references access.partners (id),
  -- the last transaction that was read, in the order of changes.
  changed_at timestamptz not null,
  transaction_id uuid not null,
  primary key (partner_id)
);
select public.shard('monitoring.progress');

create table monitoring.alerts (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  rule_id uuid not null,
  version integer not null,
  -- a customer, or the partner's own id.
  subject_id uuid not null,
  opened_at timestamptz not null,
  primary key (partner_id, id)
);
select public.shard('monitoring.alerts');
create index alerts_by_subject on monitoring.alerts (partner_id, rule_id, subject_id, id);

-- One row for each transaction that a rule has found.
create table monitoring.hits (
  partner_id uuid not null references access.partners (id),
  rule_id uuid not null,
  transaction_id uuid not null,
  alert_id uuid not null,
  reference text not null,
  -- JSON: count, sum and references of what made it a hit.
  evidence text not null,
  found_at timestamptz not null,
  primary key (partner_id, rule_id, transaction_id)
);
select public.shard('monitoring.hits');
create index hits_by_alert on monitoring.hits (partner_id, alert_id, transaction_id);
