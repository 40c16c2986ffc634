-- Limits and approval rules that count over all currencies, in a reference currency, besides those of one currency.
-- Why: 50,000 EUR were exchanged and left as GBP without the approval that EUR has (issue 41).
-- Processes of the version before may run: they take such a rule for one of its currency, do not give its counters back, and set no rules. So
-- these rules are set once none of them runs.
-- Locks: ACCESS EXCLUSIVE on payouts.limits and payouts.approval_rules, which have few rows; exclusive, for an instant, on payouts.limit_counters,
-- whose rows fit the wider check and are not read, and on payouts.payouts (a nullable column is no rewrite).
alter table payouts.limits add column all_currencies boolean not null default false;
alter table payouts.limits drop constraint limits_key;
alter table payouts.limits
  add constraint limits_key unique (partner_id, currency, scope, scope_id, period, verification_state, all_currencies);

alter table payouts.approval_rules add column all_currencies boolean not null default false;
alter table payouts.approval_rules drop constraint approval_rules_key;
alter table payouts.approval_rules add constraint approval_rules_key unique (partner_id, currency, all_currencies);

-- A counter whose scope begins with `all.` has the sums of all currencies, in its currency.
alter table payouts.limit_counters drop constraint limit_counters_scope_check;
alter table payouts.limit_counters add constraint limit_counters_scope_check check (scope in (
  'partner', 'customer', 'beneficiary', 'unapproved', 'approver', 'all.partner', 'all.customer', 'all.beneficiary', 'all.unapproved',
  'all.approver')) not valid;

-- JSON: the amount by which rules over all currencies have judged the payout, with its rate and the day of the rate. Null: no such rule has.
alter table payouts.payouts add column reference_amount text;
