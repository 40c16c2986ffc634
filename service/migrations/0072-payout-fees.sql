-- What a payout costs: rules of the operator for a partner, and the fee that a payout was accepted with.
-- Why: issue 19. The fee is reserved in the entry of the payout, and posted or released with it.
-- Processes of the version before may run: they accept payouts without fees, and end an entry of several reserves as a whole.
-- Locks: writes to partners wait for an instant while the foreign key is added; exclusive, for an instant, on payouts (a
-- nullable column is no rewrite).
create table payouts.fee_rules (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  currency text not null,
  rail text not null check (rail in ('any', 'Sepa', 'Swift', 'Wallet')),
  fixed_amount bigint not null check (fixed_amount >= 0),
  basis_points integer not null check (basis_points between 0 and 10000),
  min_amount bigint not null check (min_amount >= 0),
  -- null: none.
  max_amount bigint,
  valid_from timestamptz not null,
  created_at timestamptz not null,
  primary key (partner_id, id),
  constraint fee_rules_key unique (partner_id, currency, rail, valid_from),
  constraint fee_rules_bounds check (max_amount >= min_amount)
);
select public.shard('payouts.fee_rules');

-- in the currency of the payout; null: none was taken.
alter table payouts.payouts add column fee_amount bigint;
-- for the rows of later writes: what is there has no fee.
alter table payouts.payouts add constraint payouts_fee check (fee_amount > 0) not valid;
