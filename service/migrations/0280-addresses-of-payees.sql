-- Postal addresses of payees, and the copies that a payout and its instruction to a bank have.
-- Why: since 14 November 2026 banks refuse payments by SWIFT whose payee has no city and country, and addresses that are lines only.
-- The index finds the payees that lack a field on a day: a key is a kind of payments (currency, country of the account, country of the
-- bank) and the optional fields of the address that are there. A partner has some hundred different keys, whatever its number of payees.
-- Processes of the version before may run: they leave the columns empty, which is a payee without an address.
-- Locks: for an instant exclusive on beneficiaries, payouts and instructions; writes of beneficiaries wait while the index is made.
alter table beneficiaries.beneficiaries add column address jsonb;
alter table beneficiaries.beneficiaries add constraint beneficiaries_address_check
  check (jsonb_typeof(address) = 'object' and address ? 'city' and address ? 'country') not valid;
alter table payouts.payouts add column creditor_address text;
alter table rails.iso_instructions add column creditor_address text;
create index beneficiaries_corridor on beneficiaries.beneficiaries (partner_id,
  (currency || '/' || coalesce(country, '') || '/' || coalesce(substring(bic from 5 for 2), '') || '/'
    || case when address is null then '' else 'a' end || case when address ? 'streetName' then 's' else '' end
    || case when address ? 'buildingNumber' then 'b' else '' end || case when address ? 'postalCode' then 'p' else '' end
    || case when address ? 'state' then 't' else '' end || case when account_type is null then '' else 'c' end), id)
  where removed_at is null and wallet_address is null;
