-- An index of beneficiaries by their account.
-- Why: a file of payments names accounts, and each account is that of a beneficiary.
-- Processes of the version before may run: they do not use it.
-- Locks: writes to beneficiaries wait while the index is built.
create index beneficiaries_by_iban on beneficiaries.beneficiaries (partner_id, iban) where removed_at is null;
