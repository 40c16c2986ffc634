-- A payout records the bank connector that carries it, and is claimed by the worker of that connector.
-- Why: one connector that hangs must not hold up the payouts of another one, however many are due.
-- Processes of the version before may run: they know the sandbox bank only, which is the default.
-- Locks: exclusive, for an instant, on payouts (the default is no rewrite) and on the sandbox bank's instructions; writes to
-- payouts wait while the index is built, over the payouts that are due.
alter table payouts.payouts add column connector text not null default 'sandbox';
create index payouts_due_by_connector on payouts.payouts (connector, partner_id, due_at) where due_at is not null;
-- The reason code of a refusal, in the bank's own code list.
alter table rails.sandbox_instructions add column reason_code text;
