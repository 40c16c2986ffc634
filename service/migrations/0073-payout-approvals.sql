-- Payouts that wait for the approval of a second person: the rules of the operator, and who asked for and decided what.
-- Why: issue 19. A payout above an amount, or to a young beneficiary, is sent when another person or program has approved it.
-- Processes of the version before may run: they create payouts without approval, know the status, and never send a payout in it,
-- because it is not due. They cancel none, because they cancel what is pending only.
-- Locks: writes to partners wait for an instant while the foreign keys are added; exclusive, for an instant, on payouts (a
-- nullable column is no rewrite).
create table payouts.approval_rules (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  currency text not null,
  -- a payout of more waits; null: no amount does.
  above_amount bigint check (above_amount >= 0),
  -- a payout to a beneficiary that is younger waits; null: no age matters.
  beneficiary_hours integer check (beneficiary_hours between 1 and 8760),
  -- how long a payout waits before it is cancelled.
  expires_hours integer not null check (expires_hours between 1 and 720),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (partner_id, id),
  constraint approval_rules_key unique (partner_id, currency),
  constraint approval_rules_hold_something check (above_amount is not null or beneficiary_hours is not null)
);
select public.shard('payouts.approval_rules');

create table payouts.approvals (
  partner_id uuid not null references access.partners (id),
  payout_id uuid not null,
  -- why it waits.
  cause text not null check (cause in ('amount', 'beneficiary')),
  requested_by uuid not null,
  requested_name text not null,
  expires_at timestamptz not null,
  decision text check (decision in ('approved', 'rejected', 'expired', 'cancelled')),
  -- null: decided by the time, or by a cancellation.
  decided_by uuid,
  decided_name text,
  reason text,
  decided_at timestamptz,
  primary key (partner_id, payout_id),
  constraint approvals_decided check ((decision is null) = (decided_at is null)),
  constraint approvals_second_person check (decided_by <> requested_by)
);
create index approvals_open on payouts.approvals (expires_at, partner_id, payout_id) where decision is null;
select public.shard('payouts.approvals');

-- until when a payout may be approved; null: it needed no approval.
alter table payouts.payouts add column approval_expires_at timestamptz;
