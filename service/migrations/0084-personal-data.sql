-- Personal data of customers: what an export finds it by, and what an erasure leaves.
-- Why: a data subject may ask for everything that is held about it (GDPR, Art. 15). Without the indexes each such request would read every
-- beneficiary and every quote of the partner, and every record of its audit log. It may also ask for erasure (Art. 17). What an
-- obliged entity must keep (AMLD, Art. 40) is erased when its time is over. The row of the customer stays, so that the ledger,
-- payments and the audit log keep what they refer to.
-- Processes of the version before may run: what they record has no row in audit.subjects. They do not know of erased customers. Erase
-- none until they have ended.
-- Locks: writes to beneficiaries, quotes and idempotency keys wait while the indexes are built, each about a second for each million
-- rows. Writes to customers, IBANs and wallets wait for an instant while the columns are added.

create index beneficiaries_of_customer on beneficiaries.beneficiaries (partner_id, customer_id, id) where customer_id is not null;
create index quotes_by_customer on fx.quotes (partner_id, customer_id, id) where customer_id is not null;
-- An erasure finds the stored answer of the request that created the customer by its time.
create index keys_by_time on idempotency.keys (partner_id, operation, created_at);

-- The records of requests that name a customer in their path.
create table audit.subjects (
  partner_id uuid not null,
  -- as in the path: a guid in lower case, or a serviceId.
  subject text not null,
  record_id uuid not null,
  primary key (partner_id, subject, record_id)
);
select public.shard('audit.subjects');

alter table customers.customers add column erased_at timestamptz;
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
