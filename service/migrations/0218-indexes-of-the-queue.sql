-- Indexes of the desk's queue and of the approvals in the console.
-- Why: the desk lists recalls that a bank has not answered in time, and the console lists payouts that wait alone without reading those of bulks.
-- Processes of the version before may run: they do not read by them.
-- Locks: writes to payouts.recalls and payouts.approvals wait while each is scanned. The indexes have the rows that wait only.
create index recalls_expired on payouts.recalls (expired_at, partner_id, id) where status = 'Expired';
create index approvals_open_alone on payouts.approvals (partner_id, payout_id) where decision is null and bulk_id is null;
