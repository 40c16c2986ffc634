-- Limits of customers in one state of their verification.
-- Why: an operator lets a customer that is not verified pay little (issue 28).
-- Processes of the version before may run: they let such a limit hold for every customer, and do not set limits. So limits are set once none
-- of them runs.
-- Locks: ACCESS EXCLUSIVE on payouts.limits, which has few rows.
-- `Any`: of every state.
alter table payouts.limits add column verification_state text not null default 'Any';
alter table payouts.limits add constraint limits_state_check check (verification_state = 'Any' or (verification_state in
  ('Complete', 'Incomplete', 'Invalid') and scope = 'customer' and scope_id = '00000000-0000-0000-0000-000000000000'));
alter table payouts.limits drop constraint limits_key;
alter table payouts.limits
  add constraint limits_key unique (partner_id, currency, scope, scope_id, period, verification_state);
