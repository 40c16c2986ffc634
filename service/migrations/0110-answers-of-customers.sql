-- Stored answers know the customer whose data they have.
-- Why: an erasure has to find the answers that created the beneficiaries, accounts and wallets of a customer. By their time alone it would
-- open every answer of ten minutes for each of them, and miss the repeated requests for an account.
-- Answers of before have no customer: they are found by their time. Processes of the version before store none either. Erase no
-- customer until they have ended.
-- Locks: requests with an Idempotency-Key wait for an instant while the column is added, and about a second for each million keys while
-- the index, which is empty, is built.

-- null: of no customer, stored before this migration, or erased.
alter table idempotency.keys add column customer_id uuid;
create index keys_by_customer on idempotency.keys (partner_id, customer_id) where customer_id is not null;
