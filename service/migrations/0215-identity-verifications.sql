-- Identity verifications: a provider compares the KYC of a customer with documents, and what it has found.
-- Why: issue 28. Rules say that a value cannot be right; only a document says that it is true.
-- Processes of the version before may run: they judge customers by rules alone. A customer that they change is judged with its proof when it is
-- changed next, or when its verification changes.
-- Locks: writes to customers wait for an instant while the foreign key is added; the table is new.
create table customers.identity_verifications (
  partner_id uuid not null,
  id uuid not null,
  customer_id uuid not null,
  kinds text[] not null check (cardinality(kinds) between 1 and 3 and kinds <@ array['Document', 'Address', 'Company']),
  status text not null check (
    status in ('Pending', 'Open', 'Processing', 'Approved', 'Declined', 'Lapsed', 'Expired', 'Failed')
  ),
  -- why it was declined or has failed.
  reason text,
  provider text not null,
  -- its name at the provider. Null: the provider has not answered the request yet.
  provider_session text check (char_length(provider_session) between 1 and 200),
  -- the version of the last report that was applied. 0: none was.
  provider_version bigint not null check (provider_version >= 0),
  -- what was sent, the page of the provider and what it has found, sealed.
  content_sealed bytea not null,
  session_expires_at timestamptz,
  -- when the first document expires. Null: none does.
  valid_until timestamptz,
  -- the customer is judged by it. False: it is not decided, or a later one has replaced it.
  in_force boolean not null,
  -- calls of the provider that have failed since the last answer.
  attempts integer not null check (attempts >= 0),
  -- when a worker asks the provider, or lets it expire. A claim moves it to the end of the lease.
  due_at timestamptz,
  lease_id uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  decided_at timestamptz,
  primary key (partner_id, id),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id),
  check (not in_force or status in ('Approved', 'Declined', 'Expired')),
  check (status not in ('Approved', 'Declined', 'Expired') or decided_at is not null),
  check ((provider_session is null) = (session_expires_at is null)),
  check (status in ('Pending', 'Failed', 'Lapsed') or provider_session is not null),
  check (status not in ('Pending', 'Open', 'Processing') or due_at is not null),
  check (lease_id is null or due_at is not null)
);
create unique index identity_verifications_open on customers.identity_verifications (partner_id, customer_id)
  where status in ('Pending', 'Open', 'Processing');
create index identity_verifications_of_customer on customers.identity_verifications (partner_id, customer_id, id);
create index identity_verifications_due on customers.identity_verifications (due_at) where due_at is not null;
select public.shard('customers.identity_verifications');
