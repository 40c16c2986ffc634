-- Transactions and payouts: what the partner said, found beside the references that were given.
-- Why: `user_reference` was stored only if the reference was taken, so that a filter found one of two payments with the same text. It is
-- now what the partner said, always. References of the service have one form, `txn_` and 22 characters: every other one is the partner's.
-- The indexes have only what differs from the reference, which its own index finds: an entry for every payment would be written
-- again with each of its steps.
-- Processes of the version before may run: they store no text for a reference that is free. It is then found by its reference.
-- Locks: writes to transactions and to payouts wait while the indexes are built, about a second for each million rows. The update
-- holds the rows that it fills, also those of payments that move: about ten seconds for each million rows.

update transactions.transactions set user_reference = reference
where user_reference is null and reference !~ '^txn_[0-9a-hjkmnp-tv-z]{22}$';
create index transactions_by_user_text on transactions.transactions (partner_id, user_reference text_pattern_ops, id)
  where user_reference <> reference;
create index payouts_by_remittance on payouts.payouts (partner_id, remittance, id) where remittance <> reference;
