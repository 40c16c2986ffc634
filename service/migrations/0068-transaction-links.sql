-- Transactions: the quote that a transaction accepted, and an index of what gives a transaction back.
-- Why: GET /v1/transactions/{reference}/related finds returns and reversals by the transaction that they name. Few have one.
-- Processes of the version before may run: they leave the column null, and such a transaction is shown without its quote.
-- Locks: exclusive, for an instant, on transactions (a nullable column is no rewrite); writes to transactions wait while the
-- index is built, about a second for each million rows. The updates touch only transactions with an exchange.

alter table transactions.transactions add column quote_id uuid;

update transactions.transactions as stored set quote_id = paid.quote_id
from payouts.payouts as paid
where paid.partner_id = stored.partner_id and paid.transaction_id = stored.id and paid.quote_id is not null;

update transactions.transactions as stored set quote_id = exchanged.quote_id
from fx.conversions as exchanged
where exchanged.partner_id = stored.partner_id and exchanged.transaction_id = stored.id;

create index transactions_by_original on transactions.transactions (partner_id, originating_reference, id)
  where originating_reference is not null;
