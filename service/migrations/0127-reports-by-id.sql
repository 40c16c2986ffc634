-- Which notification of the bank settled a payment, and which one ended it otherwise: a rejection, a return, a reversal.
-- Why: a repetition was told by the status of the payment, so that a second return or settlement, which is other money, counted as one.
-- Rows from before have none: what a bank repeats about them is judged by the status, as before.
-- Processes of the version before may run: they leave the columns empty.
-- Locks: exclusive for an instant on payouts, deposits and returns of cases; no rewrite.
alter table payouts.payouts add column settled_by text, add column ended_by text;
alter table deposits.deposits add column settled_by text, add column reversed_by text;
alter table cases.returns add column settled_by text, add column ended_by text;
