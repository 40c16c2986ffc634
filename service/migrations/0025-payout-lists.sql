-- Payouts: an index for each new filter of the list.
-- A reference is found by its transaction.
-- Why: a filter that few rows pass (a customer, a rare currency, a day long ago) would read every payout of the
-- partner, newest first, until it had a page.
-- Processes of the version before may run: they do not use the indexes.
-- Locks: writes to payouts wait while the indexes are built, about a second for each million rows.

create index payouts_by_customer on payouts.payouts (partner_id, customer_id, id) where customer_id is not null;
create index payouts_by_currency on payouts.payouts (partner_id, currency, id);
create index payouts_by_time on payouts.payouts (partner_id, created_at, id);
