-- Transactions: an index for each filter of the list.
-- Why: a filter that few rows pass (a category that a partner has none of, a beneficiary, a day long ago) read every
-- row of the partner, newest first, until it had a page.
-- Locks: writes to transactions wait while the indexes are built, about a second for each million rows.

create index transactions_by_category on transactions.transactions (partner_id, category, id);
create index transactions_by_beneficiary on transactions.transactions (partner_id, beneficiary_id, id)
  where beneficiary_id is not null;
create index transactions_by_time on transactions.transactions (partner_id, created_at, id);
