-- Bulk payouts are approved as a whole, and a rule can hold them by their sum.
-- Why: a bulk of 500 payouts needed 500 approvals, and one of many payouts just under the amount of a rule needed none.
-- Processes of the version before may run: the payouts that they make for a bulk are approved one by one, and they do not hold by the sum
-- of a bulk, so rules with one are set once none of them runs.
-- Locks: exclusive, for an instant, on payouts.approval_rules and payouts.approvals, whose rows fit the wider checks and are not read; writes to
-- payouts.approvals wait while it is scanned for the index, which is empty.
alter table payouts.approval_rules add column above_bulk_amount bigint;
alter table payouts.approval_rules add constraint approval_rules_above_bulk_amount_check check (above_bulk_amount >= 0);
alter table payouts.approval_rules drop constraint approval_rules_hold_something;
alter table payouts.approval_rules add constraint approval_rules_hold_something
  check (above_amount is not null or above_day_amount is not null or above_bulk_amount is not null
    or beneficiary_hours is not null or per_person_amount is not null);

alter table payouts.approvals drop constraint approvals_cause_check;
alter table payouts.approvals add constraint approvals_cause_check
  check (cause in ('amount', 'day', 'bulk', 'beneficiary')) not valid;
-- the bulk of the payout; null: it is of none, or a process of the version before made it.
alter table payouts.approvals add column bulk_id uuid;
create index approvals_open_of_bulk on payouts.approvals (partner_id, bulk_id, payout_id)
  where decision is null and bulk_id is not null;
