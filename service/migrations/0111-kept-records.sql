-- How far the records of a partner are erased whose duty of retention is over.
-- Why: what banks report, cases, verifications of payees and orders name persons, and know no customer whose erasure could find them.
-- They are erased by their age (GDPR, Art. 5(1)(e)). An erasure also ends the standing orders of a customer, which it finds by the payee.
-- Processes of the version before do neither.
-- Locks: writes to standing orders wait while the index is built, about a second for each million orders.

create table customers.kept_records (
  partner_id uuid not null references access.partners (id),
  -- as in service/src/personal.ts.
  place text not null,
  -- no record at or before it names anyone.
  floor uuid not null,
  -- the last record that this pass has looked at.
  position uuid not null,
  -- this pass has left a record behind the floor, which is in use.
  has_left boolean not null,
  -- when the next pass begins, or this one goes on.
  due_at timestamptz not null,
  check (position >= floor),
  primary key (partner_id, place)
);
select public.shard('customers.kept_records');
create index kept_records_due on customers.kept_records (due_at, partner_id);

create index standing_orders_by_beneficiary on payouts.standing_orders (partner_id, beneficiary_id);
