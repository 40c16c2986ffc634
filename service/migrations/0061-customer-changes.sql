-- The history of customers: who changed which fields when, from what to what.
-- Why: a partner must be able to explain how the identity data of a customer came about. Rows are added by the transaction of the
-- change; no statement changes or deletes one.
-- Processes of the version before may run: what they change is not in the history.
-- Locks: none on existing data; everything here is new.
create table customers.changes (
  partner_id uuid not null,
  id uuid not null,
  customer_id uuid not null,
  -- from 1 in each customer, without gaps. Ids of several processes follow several clocks.
  sequence integer not null check (sequence > 0),
  kind text not null check (kind in ('Created', 'Updated')),
  -- the service account of the request. Null: the service itself.
  actor_id uuid,
  actor_name text check ((actor_name is null) = (actor_id is null)),
  request_id text,
  -- names of fields, without their values.
  fields text[] not null,
  -- JSON of the values before and after, sealed as the KYC is.
  values_sealed bytea not null,
  changed_at timestamptz not null,
  primary key (partner_id, id),
  constraint changes_sequence unique (partner_id, customer_id, sequence),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id)
);
select public.shard('customers.changes');
