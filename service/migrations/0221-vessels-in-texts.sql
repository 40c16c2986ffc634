-- Payouts as subjects of screening of their own, and the texts of deposits that may name a vessel.
-- Why: a payment whose text names a listed vessel must wait for a decision; so must a refund to a country with a rule, which has no beneficiary.
-- Processes of the version before may run: they write no such texts, and compare no payout. They send a payout that this version holds, and
-- screen a payout by no text, so that the lists are loaded again (screening load) once none of them runs.
-- Locks: exclusive on subjects while the kinds are checked (a scan); exclusive on deposits for an instant.
alter table screening.subjects drop constraint subjects_kind_check;
alter table screening.subjects add constraint subjects_kind_check check (kind in ('customer', 'beneficiary', 'payer', 'payout'));

-- The texts of the payment that may name a vessel, one a line: remittance, references, items. Null: none does.
alter table deposits.deposits add column craft_text text;
