-- Customers: for whom a partner moves money, and the KYC data of each. KYC is one sealed value (AES-256-GCM under the master key), so that no dump,
-- replica or log of the database has it in plain text. A list has an index for each filter: a filter that few rows pass would read every customer of
-- the partner until it had a page.
-- Locks: none, everything is new.

create schema customers;

create table customers.customers (
  partner_id uuid not null references access.partners (id), id uuid not null,
  service_id text not null check (service_id ~ '^cus_[0-9a-hjkmnp-tv-z]{16}$'), -- the identifier that partners see: 80 random bits.
  partner_customer_identifier text, -- of the partner; new customers do not share one (identifier_locks).
  email text,
  customer_type text not null check (customer_type in ('Individual', 'Business', 'SoleTrader')),
  kyc_sealed bytea not null,
  created_at timestamptz not null, updated_at timestamptz not null check (updated_at >= created_at),
  name_tokens bigint[], -- those of the table name_tokens, so that a change removes exactly these.
  names_indexed_at timestamptz, -- updated_at of the indexed names. Null or earlier than updated_at: they are to be indexed.
  erased_at timestamptz,
  -- null: active.
  account_state text constraint customers_account_state check (account_state in ('BlockedInbound', 'BlockedOutbound', 'Blocked', 'Closed')),
  -- by rules. Null: not judged yet, the KYC cannot be read, or the customer is erased.
  verification_state text constraint customers_verification_state check (verification_state in ('Complete', 'Incomplete', 'Invalid')),
  verified_at timestamptz, -- updated_at of the judged KYC. Null or earlier than updated_at: it is to be judged.
  -- the next midnight (UTC), if time alone changes the state. A date of its own would tell a birthday, which is sealed.
  verification_due_at timestamptz,
  primary key (partner_id, id),
  unique (partner_id, service_id)
);
select public.shard('customers.customers');
create index customers_by_email on customers.customers (partner_id, lower(email), id);
create index customers_by_identifier on customers.customers (partner_id, partner_customer_identifier, id);
create index customers_by_type on customers.customers (partner_id, customer_type, id);
create index customers_by_time on customers.customers (partner_id, created_at, id);
create index customers_by_change on customers.customers (partner_id, updated_at, id);
create index customers_names_due on customers.customers (partner_id, id) where names_indexed_at is null or names_indexed_at < updated_at;
create index customers_by_verification on customers.customers (partner_id, verification_state, id);
create index customers_unverified on customers.customers (partner_id, id)
  where erased_at is null and (verified_at is null or verified_at < updated_at);
create index customers_verification_due on customers.customers (verification_due_at, partner_id)
  where erased_at is null and verification_due_at is not null;

-- The key of a name_tokens index, sealed under the master key. It stays when the master key changes.
create table customers.name_keys (
  partner_id uuid not null references access.partners (id),
  key_sealed bytea not null,
  created_at timestamptz not null,
  primary key (partner_id)
);
select public.shard('customers.name_keys');

-- A blind index of names, which are sealed (decision 0050).
create table customers.name_tokens (
  partner_id uuid not null,
  token bigint not null, -- the first 64 bits of the keyed hash of a prefix.
  customer_id uuid not null,
  primary key (partner_id, token, customer_id),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id)
);
select public.shard('customers.name_tokens');

-- The history of customers. The transaction of a change adds its row; no statement changes or deletes one.
create table customers.changes (
  partner_id uuid not null, id uuid not null,
  customer_id uuid not null,
  sequence integer not null check (sequence > 0), -- from 1 for each customer, without gaps. Ids of several processes follow several clocks.
  kind text not null check (kind in ('Created', 'Updated')),
  actor_id uuid, -- the service account of the request. Null: the service itself.
  actor_name text check ((actor_name is null) = (actor_id is null)),
  request_id text,
  fields text[] not null, -- names of fields, without their values.
  values_sealed bytea not null, -- JSON of the values before and after, sealed as the KYC is.
  changed_at timestamptz not null,
  primary key (partner_id, id),
  constraint changes_sequence unique (partner_id, customer_id, sequence),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id)
);
select public.shard('customers.changes');

-- What an obliged entity must keep (AMLD, Art. 40) is erased when its time is over. The row of the customer stays for payments and the audit log.
create table customers.erasures (
  partner_id uuid not null,
  customer_id uuid not null,
  -- details: free fields of payments; retained: waits; payments, payouts: what was kept of them; done.
  phase text not null check (phase in ('details', 'retained', 'payments', 'payouts', 'done')),
  position uuid not null, -- the last payment that the phase has worked on.
  requested_at timestamptz not null,
  retained_until timestamptz, -- null: nothing is kept, or no longer.
  due_at timestamptz, completed_at timestamptz,
  primary key (partner_id, customer_id),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id),
  check ((phase = 'done') = (due_at is null)),
  check ((phase = 'done') = (completed_at is not null))
);
select public.shard('customers.erasures');
create index erasures_due on customers.erasures (due_at, partner_id) where due_at is not null;

-- Progress of the erasure by age: reports of banks, cases and orders name persons, and no customer leads to them (GDPR, Art. 5(1)(e)).
create table customers.kept_records (
  partner_id uuid not null references access.partners (id),
  place text not null, -- as in service/src/personal.ts.
  floor uuid not null, -- no record up to it names anyone.
  position uuid not null, -- the last record of this pass.
  has_left boolean not null, -- this pass has left a record in use behind.
  due_at timestamptz not null, -- when the next pass begins or this one continues.
  primary key (partner_id, place),
  check (position >= floor)
);
select public.shard('customers.kept_records');
create index kept_records_due on customers.kept_records (due_at, partner_id);

-- What a customer may do in each state of its verification. Without a row the default of the installation holds (KYC_GATES).
create table customers.gates (
  partner_id uuid not null references access.partners (id),
  verification_state text not null check (verification_state in ('Complete', 'Incomplete', 'Invalid')),
  opens_accounts boolean not null, receives boolean not null, pays boolean not null,
  updated_at timestamptz not null,
  balances_max jsonb check (jsonb_typeof(balances_max) = 'object'), -- largest balances: minor units by currency, as texts of integers. Null: none.
  converts boolean, -- exchanges, and has tokens. Null: not set, and allowed.
  -- largest sum over all currencies: minor units of one currency, as the text of an integer. Null: none.
  total_max jsonb check (jsonb_typeof(total_max) = 'object'),
  primary key (partner_id, verification_state)
);
select public.shard('customers.gates');

-- One lock of an identifier at a time: an identifier names one customer.
create table customers.identifier_locks (
  partner_id uuid not null references access.partners (id),
  bucket smallint not null, -- of the digest of the identifier: few rows, and no personal data.
  primary key (partner_id, bucket)
);
select public.shard('customers.identifier_locks');

-- The class of risk of a customer, and when the operator looks at it again (AMLD, Art. 14(5)).
create table customers.reviews (
  partner_id uuid not null,
  customer_id uuid not null,
  risk text not null check (risk in ('low', 'medium', 'high')),
  reviewed_by text not null, reviewed_at timestamptz not null,
  due_on date not null,
  primary key (partner_id, customer_id),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id)
);
select public.shard('customers.reviews');
create index reviews_by_due_and_customer on customers.reviews (due_on, customer_id);

-- An identity provider compares the KYC of a customer with documents.
create table customers.identity_verifications (
  partner_id uuid not null, id uuid not null,
  customer_id uuid not null,
  kinds text[] not null check (cardinality(kinds) between 1 and 3 and kinds <@ array['Document', 'Address', 'Company']),
  status text not null check (status in ('Pending', 'Open', 'Processing', 'Approved', 'Declined', 'Lapsed', 'Expired', 'Failed') ),
  reason text, -- why it was declined or has failed.
  provider text not null,
  provider_session text check (char_length(provider_session) between 1 and 200), -- null: the provider has not answered the request yet.
  provider_version bigint not null check (provider_version >= 0), -- of the last report that was applied. 0: none was.
  content_sealed bytea not null, -- the request, the page of the provider and its findings.
  session_expires_at timestamptz,
  valid_until timestamptz, -- when the first document expires. Null: none does.
  in_force boolean not null, -- the customer is judged by it. False: undecided, or replaced.
  attempts integer not null check (attempts >= 0), -- failed calls of the provider since its last answer.
  due_at timestamptz, -- when a worker asks the provider, or lets it expire. A claim moves it to the end of the lease.
  lease_id uuid,
  created_at timestamptz not null, updated_at timestamptz not null,
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
select public.shard('customers.identity_verifications');
create unique index identity_verifications_open on customers.identity_verifications (partner_id, customer_id)
  where status in ('Pending', 'Open', 'Processing');
create index identity_verifications_of_customer on customers.identity_verifications (partner_id, customer_id, id);
create index identity_verifications_due on customers.identity_verifications (due_at) where due_at is not null;
-- Expiries need no provider, so a job of their own reads them.
create index identity_verifications_expiring on customers.identity_verifications (valid_until)
  where in_force and status = 'Approved' and valid_until is not null;

-- Sessions of erased customers, until their provider has erased them. The row outlives the verification.
create table customers.identity_erasures (
  partner_id uuid not null,
  id uuid not null, -- of the verification, which is the reference at the provider.
  provider text not null,
  provider_session text, -- Null: the service did not learn of a session.
  attempts integer not null check (attempts >= 0),
  due_at timestamptz, -- A claim moves it to the end of the lease. Null: the provider has refused.
  refused_at timestamptz,
  created_at timestamptz not null,
  primary key (partner_id, id),
  check ((due_at is null) = (refused_at is not null))
);
select public.shard('customers.identity_erasures');
create index identity_erasures_due on customers.identity_erasures (due_at) where due_at is not null;
