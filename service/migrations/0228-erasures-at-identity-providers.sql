-- Erasures at identity providers: the sessions of erased customers, until their provider has erased them.
-- Why: a provider has copies of documents, which the erasure of a customer must reach. The row outlives the verification.
-- Locks: none; the table is new.
create table customers.identity_erasures (
  partner_id uuid not null,
  -- that of the verification, which is the reference at the provider.
  id uuid not null,
  provider text not null,
  -- Null: the service did not learn of a session.
  provider_session text,
  attempts integer not null check (attempts >= 0),
  -- A claim moves it to the end of the lease. Null: the provider has refused.
  due_at timestamptz,
  refused_at timestamptz,
  created_at timestamptz not null,
  primary key (partner_id, id),
  check ((due_at is null) = (refused_at is not null))
);
create index identity_erasures_due on customers.identity_erasures (due_at) where due_at is not null;
select public.shard('customers.identity_erasures');
