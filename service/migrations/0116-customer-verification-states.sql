-- Customers by the state of their verification: the state is kept beside the sealed KYC, so that a list can be filtered by it.
-- Why: issue 19, point 1. The rules read the KYC, which is sealed: a filter would open the KYC of every customer of the partner.
-- Ages and dates in the future change the state without a change of the customer. Only such a customer has verification_due_at,
-- which is the next midnight (UTC): a date of its own would tell the birthday of a customer whose KYC is sealed.
-- Processes of the version before may run: they leave the columns as they are. A worker finds the customers that they created or
-- changed by verified_at, and judges them. It judges all customers of before this migration in the same way.
-- Locks: exclusive, for an instant, on customers (nullable columns are no rewrite). Writes to customers wait while the rows are
-- read for the new check and the indexes are built, about a second for each million rows and index.
alter table customers.customers
  -- null: not judged yet, or the KYC cannot be read, or the customer is erased.
  add column verification_state text,
  -- updated_at of the KYC that was judged. Null or earlier than updated_at: it is to be judged.
  add column verified_at timestamptz,
  -- when the state may be another one although nothing was changed. Null: not within many years.
  add column verification_due_at timestamptz;
alter table customers.customers add constraint customers_verification_state
  check (verification_state in ('Complete', 'Incomplete', 'Invalid'));
create index customers_by_verification on customers.customers (partner_id, verification_state, id);
create index customers_unverified on customers.customers (partner_id, id)
  where erased_at is null and (verified_at is null or verified_at < updated_at);
create index customers_verification_due on customers.customers (verification_due_at, partner_id)
  where erased_at is null and verification_due_at is not null;
