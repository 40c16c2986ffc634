-- Payouts are found by the id of their instruction, which a bank names: the end-to-end id. It was the payout's own id and is
-- derived from the partner, the operation and the idempotency key from now on.
-- Processes of the version before may run: this version finds what they submit under the payout's own id.
-- Locks: writes to payouts wait while the index is built.

create index payouts_instruction on payouts.payouts (partner_id, end_to_end_id);
