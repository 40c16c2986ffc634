-- Payments that a rule of monitoring holds before the bank has them, and the parties of alerts that are erased.
-- Why: a rule held nothing back, and what it had found stayed for ever (issue 28; decision 0105).
-- Processes of the version before may run: they write hits that hold nothing, and send payouts without asking rules.
-- Locks: exclusive, for an instant, on monitoring.hits; SHARE on it while the index is built. A constant default rewrites nothing.
-- true: the payment waits until two persons have decided the alert, if the bank does not have it.
alter table monitoring.hits add column holds boolean not null default false;
create index hits_by_transaction on monitoring.hits (partner_id, transaction_id);
