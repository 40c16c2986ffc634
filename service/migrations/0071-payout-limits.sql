-- Limits of payouts, and what has been counted against them in each day and month.
-- Why: issue 19. An operator limits what a partner, a customer or a beneficiary may be paid: at once, in a day, in a month.
-- Processes of the version before may run: they accept payouts without limits, so limits are set once none of them runs.
-- Locks: writes to partners wait for an instant while the foreign keys are added; exclusive, for an instant, on payouts (a
-- nullable column is no rewrite).
create table payouts.limits (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  scope text not null check (scope in ('partner', 'customer', 'beneficiary')),
  -- of the customer or the beneficiary; the nil UUID: of each one, or of the partner.
  scope_id uuid not null,
  currency text not null,
  period text not null check (period in ('payment', 'day', 'month')),
  amount bigint not null check (amount > 0),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (partner_id, id),
  constraint limits_key unique (partner_id, currency, scope, scope_id, period)
);
select public.shard('payouts.limits');

create table payouts.limit_counters (
  partner_id uuid not null references access.partners (id),
  currency text not null,
  scope text not null check (scope in ('partner', 'customer', 'beneficiary')),
  -- the nil UUID: of the partner.
  scope_id uuid not null,
  period text not null check (period in ('day', 'month')),
  -- the first day of the period, in UTC.
  starts_on date not null,
  used bigint not null check (used >= 0),
  primary key (partner_id, currency, scope, scope_id, period, starts_on)
) with (fillfactor = 70);
select public.shard('payouts.limit_counters');

-- JSON: the counters that have the amount, as `customer.day`. Null: none has. If the payout ends without a settlement, they
-- get the amount back.
alter table payouts.payouts add column counted_in text;
