-- Rules of monitoring that find failed payouts, and many customers who pay one account; and the indexes of what rules count.
-- Why: rules did not see the parts of a session, nor customers who pay one account (decision 0139).
-- Processes of the version before may run: they refuse rules of the new kinds when they read them, so that such a rule is turned on once none
-- of them runs.
-- Locks: exclusive on monitoring.rules, which has few rows, for an instant. Writes to beneficiaries and deposits wait while the indexes are
-- built, about a second for each million rows.
alter table monitoring.rules drop constraint rules_kind_check;
alter table monitoring.rules add constraint rules_kind_check check (kind in ('velocity', 'structuring', 'new_payee', 'dormant', 'round_trip',
  'country', 'many_payers', 'many_customers', 'failures'));

-- Beneficiaries of every customer with one account, removed ones too.
create index beneficiaries_by_account on beneficiaries.beneficiaries
  (partner_id, coalesce(iban, domestic_account, lower(wallet_address)), id);
-- The sessions of a customer that are paid in parts: few.
create index deposits_in_parts on deposits.deposits (partner_id, customer_id, id) where in_parts;
