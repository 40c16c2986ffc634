-- A daily maximum per person: what one person or service account may approve of a currency on a day (UTC).
-- Why: a second person who approves whatever comes is no control beyond a sum; then a third one has to look.
-- Processes of the version before may run: they approve without counting and give nothing back, so a maximum is set once none of them runs.
-- Locks: exclusive, for an instant, on payouts.approval_rules, payouts.limit_counters and payouts.approvals. Their rows fit the wider checks, and are not read.
alter table payouts.approval_rules add column per_person_amount bigint;
alter table payouts.approval_rules add constraint approval_rules_per_person_amount_check check (per_person_amount > 0);
alter table payouts.approval_rules drop constraint approval_rules_hold_something;
alter table payouts.approval_rules add constraint approval_rules_hold_something check (
  above_amount is not null or above_day_amount is not null or beneficiary_hours is not null or per_person_amount is not null);

-- A counter with the scope `approver` is the sum that a person has approved on a day. Its `scope_id` is the id of the person, or is
-- made from the name: a rotated credential has a new id and the name of the one before.
alter table payouts.limit_counters drop constraint limit_counters_scope_check;
alter table payouts.limit_counters add constraint limit_counters_scope_check
  check (scope in ('partner', 'customer', 'beneficiary', 'unapproved', 'approver')) not valid;

-- JSON: the counters of the approver that have the amount, as `approver.day`. Null: none has. If the payout ends without a settlement,
-- they get the amount back.
alter table payouts.approvals add column counted_in text;
