-- Approval rules by the sum of a day: what leaves without a second person is counted, and what is beyond waits.
-- Why: many payouts just under the amount of a rule needed no approval (issue 28).
-- Processes of the version before may run: they neither count nor hold by the sum, so rules with one are set once none of them runs.
-- Locks: exclusive, for an instant, on payouts.approval_rules, payouts.limit_counters and payouts.approvals. Their rows fit the wider checks, and are not read.
alter table payouts.approval_rules add column above_day_amount bigint;
alter table payouts.approval_rules add constraint approval_rules_above_day_amount_check check (above_day_amount >= 0);
alter table payouts.approval_rules drop constraint approval_rules_hold_something;
alter table payouts.approval_rules add constraint approval_rules_hold_something
  check (above_amount is not null or above_day_amount is not null or beneficiary_hours is not null);

alter table payouts.limit_counters drop constraint limit_counters_scope_check;
alter table payouts.limit_counters add constraint limit_counters_scope_check
  check (scope in ('partner', 'customer', 'beneficiary', 'unapproved')) not valid;

alter table payouts.approvals drop constraint approvals_cause_check;
alter table payouts.approvals add constraint approvals_cause_check check (cause in ('amount', 'day', 'beneficiary')) not valid;
