-- Payees by sort code or routing number instead of an IBAN.
-- Why: payers of the United Kingdom and the United States do not know the IBAN of a payee; the United States have none.
-- Processes of the version before may run: they refuse payouts to such a payee, because it has no IBAN.
-- Locks: beneficiaries.beneficiaries for the check, which reads it once.
alter table beneficiaries.beneficiaries add column domestic_account text;
alter table beneficiaries.beneficiaries drop constraint beneficiaries_one_account;
alter table beneficiaries.beneficiaries add constraint beneficiaries_one_account
  check (num_nonnulls(iban, wallet_address, domestic_account) = 1);
