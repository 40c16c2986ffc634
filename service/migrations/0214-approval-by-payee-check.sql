-- A rule can hold payouts to a payee whose name a bank, or the verification of payee, found not to be that of the account.
-- Why: the partner answers for such a payment; now its people release or withdraw it before the bank has it.
-- Processes of the version before may run: they neither note results with the beneficiary nor hold by them, so a rule with it is set once none of
-- them runs. Results of verifications before are noted here; those of banks before are not.
-- Locks: exclusive, for an instant, on payouts.approval_rules, payouts.approvals and beneficiaries.beneficiaries, whose rows fit the wider checks and
-- are not read; then row by row the beneficiaries with a mismatch.
alter table payouts.approval_rules add column payee_mismatch boolean not null default false;
alter table payouts.approval_rules drop constraint approval_rules_hold_something;
alter table payouts.approval_rules add constraint approval_rules_hold_something
  check (above_amount is not null or above_day_amount is not null or above_bulk_amount is not null
    or beneficiary_hours is not null or per_person_amount is not null or payee_mismatch);

alter table payouts.approvals drop constraint approvals_cause_check;
alter table payouts.approvals add constraint approvals_cause_check
  check (cause in ('amount', 'day', 'bulk', 'beneficiary', 'payee')) not valid;

-- the last result for the present name and account. Null: there is none.
alter table beneficiaries.beneficiaries add column payee_check text;
alter table beneficiaries.beneficiaries add constraint beneficiaries_payee_check_check
  check (payee_check in ('match', 'close_match', 'no_match')) not valid;
update beneficiaries.beneficiaries as payee
  set payee_check = case renewal.result when 'NoMatch' then 'no_match' else 'close_match' end
  from beneficiaries.renewals as renewal
  where renewal.partner_id = payee.partner_id and renewal.beneficiary_id = payee.id
    and renewal.result in ('NoMatch', 'CloseMatch');
