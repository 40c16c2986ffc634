-- Monitors of balances: a partner sets a threshold, and is told by an event and by mail when the balance crosses it.
-- Why: issue 19, point 3. A worker reads the transfers of monitored balances in the order of their ids, so that a crossing is found
-- although the balance came back. A balance without monitors has no row here and costs nothing.
-- Processes of the version before may run: they do not use the tables.
-- Locks: writes to partners wait for an instant while the foreign keys are added.

-- How far a balance was read: `posted` and `reserved` are the sums of all its transfers up to `position`. A worker locks this row.
create table accounts.monitored_balances (
  partner_id uuid not null references access.partners (id),
  -- of ledger.accounts.
  account_id uuid not null,
  currency text not null,
  position uuid not null,
  posted bigint not null,
  reserved bigint not null,
  -- the greatest `starts_after` of its monitors.
  starts_until uuid not null,
  -- those that have not ended.
  monitors integer not null,
  primary key (partner_id, account_id),
  constraint monitored_balances_limit check (monitors between 0 and 20)
);
create index monitored_balances_in_use on accounts.monitored_balances (partner_id, account_id) where monitors > 0;
select public.shard('accounts.monitored_balances');

create table accounts.monitors (
  partner_id uuid not null,
  id uuid not null,
  account_id uuid not null,
  currency text not null,
  direction text not null check (direction in ('Below', 'Above')),
  measure text not null check (measure in ('Posted', 'Available')),
  threshold bigint not null check (threshold >= 0),
  -- null: the threshold.
  rearm_at bigint,
  -- a list of addresses.
  emails jsonb not null,
  sends_event boolean not null,
  description text,
  state text not null check (state in ('Armed', 'Triggered', 'Ended')),
  end_reason text check (end_reason in ('Deleted', 'AccountClosed')),
  -- judges the balance at this id, and after each later transfer. A change of the threshold sets it again.
  starts_after uuid not null,
  last_triggered_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  ended_at timestamptz,
  primary key (partner_id, id),
  foreign key (partner_id, account_id) references accounts.monitored_balances (partner_id, account_id),
  check (direction = 'Above' or threshold > 0),
  constraint monitors_hysteresis check (case direction when 'Below' then rearm_at >= threshold else rearm_at <= threshold end),
  check (rearm_at >= 0),
  check ((state = 'Ended') = (end_reason is not null)),
  check ((state = 'Ended') = (ended_at is not null))
);
create index monitors_of_account on accounts.monitors (partner_id, account_id, id);
select public.shard('accounts.monitors');

-- Rows are added only. The key lets a monitor cross once at a transfer.
create table accounts.monitor_crossings (
  partner_id uuid not null,
  monitor_id uuid not null,
  -- the transfer behind which the balance stood across, or the start of the monitor.
  position uuid not null,
  kind text not null check (kind in ('Triggered', 'Rearmed')),
  balance bigint not null,
  -- of the transaction that moved the money. Null: no single transfer, because it stood so at the start of the monitor.
  reference text,
  crossed_at timestamptz not null,
  primary key (partner_id, monitor_id, position),
  foreign key (partner_id, monitor_id) references accounts.monitors (partner_id, id)
);
select public.shard('accounts.monitor_crossings');
