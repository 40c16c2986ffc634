-- Erasure of customers: the tombstone of a customer, and what is left to erase of it.
-- Why: a customer may ask for the erasure of its data (GDPR, Art. 17). What an obliged entity must keep (AMLD, Art. 40) is erased when its time
-- is over. The row of the customer stays, so that the ledger, payments and the audit log keep what they refer to.
-- `parties_closed` of a balance is what a payout and an erasure that race meet at: a payout is written only if the number is still
-- the one that was read before its beneficiary was. It needs no statement and no lock of its own.
-- Processes of the version before may run: they do not know of erased customers. Erase none until they have ended.
-- Locks: writes to customers, balances and IBANs wait for an instant while the columns are added.

alter table customers.customers add column erased_at timestamptz;
-- null: none was closed.
alter table ledger.accounts add column parties_closed bigint;
-- from then on the IBAN or the wallet takes no credit.
alter table accounts.ibans add column closed_at timestamptz;
alter table wallets.wallets add column closed_at timestamptz;

create table customers.erasures (
  partner_id uuid not null,
  customer_id uuid not null,
  -- details: free fields of payments; retained: waits; payments, payouts: what was kept of them; done.
  phase text not null check (phase in ('details', 'retained', 'payments', 'payouts', 'done')),
  -- the last payment that the phase has worked on.
  position uuid not null,
  requested_at timestamptz not null,
  -- null: nothing is kept, or no longer.
  retained_until timestamptz,
  due_at timestamptz,
  completed_at timestamptz,
  check ((phase = 'done') = (due_at is null)),
  check ((phase = 'done') = (completed_at is not null)),
  primary key (partner_id, customer_id),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id)
);
select public.shard('customers.erasures');
create index erasures_due on customers.erasures (due_at, partner_id) where due_at is not null;
