-- Standing orders: payouts that a worker makes by a schedule, and what became of each of their dates.
-- Why: a partner pays rents and salaries again and again, and each date must be paid exactly once.
-- Processes of the version before may run: they do not use the tables.
-- Locks: writes to partners wait for an instant while the foreign key is added.

create table payouts.standing_orders (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  beneficiary_id uuid not null,
  amount bigint not null check (amount > 0),
  currency text not null,
  reference text,
  frequency text not null check (frequency in ('Once', 'Daily', 'Weekly', 'Monthly', 'Yearly')),
  starts_on date not null,
  -- the time of the payouts in UTC, as a second of the day.
  second_of_day integer not null check (second_of_day between 0 and 86399),
  day_of_month integer check (day_of_month between 1 and 31),
  ends_on date,
  dates integer check (dates > 0),
  business_days text not null check (business_days in ('Following', 'Preceding', 'None')),
  status text not null check (status in ('Active', 'Paused', 'Ended')),
  end_reason text check (end_reason in ('Completed', 'Cancelled', 'BeneficiaryDeleted')),
  -- the next date: its index in the schedule, and how many dates come before it.
  next_index integer not null check (next_index >= 0),
  next_number integer not null check (next_number >= 0),
  -- when a worker makes the next payout, or tries it again.
  due_at timestamptz,
  -- until when the payout of the date is tried again. Null: it was not refused.
  retry_until timestamptz,
  attempts integer not null,
  payouts_made integer not null,
  -- who asked for the payouts.
  account_id uuid not null,
  account_name text not null,
  ip_address text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  ended_at timestamptz,
  primary key (partner_id, id),
  check ((frequency = 'Monthly') = (day_of_month is not null)),
  check (ends_on is null or (ends_on >= starts_on and dates is null)),
  check ((status = 'Active') = (due_at is not null)),
  check (status = 'Active' or retry_until is null),
  check ((status = 'Ended') = (end_reason is not null)),
  check ((status = 'Ended') = (ended_at is not null))
);
-- A worker reads what is due from its beginning, whatever the number of orders.
create index standing_orders_due on payouts.standing_orders (due_at, partner_id) where due_at is not null;
select public.shard('payouts.standing_orders');

create table payouts.standing_executions (
  partner_id uuid not null,
  id uuid not null,
  order_id uuid not null,
  -- the date of the schedule.
  occurs_on date not null,
  executes_at timestamptz not null,
  status text not null check (status in ('Made', 'Retrying', 'Failed', 'Skipped')),
  attempts integer not null,
  payout_id uuid,
  transaction_reference text,
  problem_code text,
  problem_detail text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (partner_id, order_id, id),
  constraint standing_executions_date unique (partner_id, order_id, occurs_on),
  foreign key (partner_id, order_id) references payouts.standing_orders (partner_id, id),
  check ((status = 'Made') = (payout_id is not null)),
  check ((status = 'Made') = (transaction_reference is not null)),
  check (status not in ('Retrying', 'Failed') or problem_code is not null)
);
select public.shard('payouts.standing_executions');
