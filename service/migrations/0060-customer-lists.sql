-- Customers: an index for each filter of the list, and a blind index of names.
-- Why: a filter that few rows pass would read every customer of the partner, newest first, until it had a page. Names are part
-- of the sealed KYC, so that no index can hold them. name_tokens holds a keyed hash of each prefix of each name instead
-- (docs/decisions/0050-names-by-keyed-prefixes.md).
-- Processes of the version before may run: they leave name_tokens and names_indexed_at as they are. A worker finds the customers
-- that they created or changed by names_indexed_at, and indexes them.
-- Locks: exclusive, for an instant, on customers (nullable columns are no rewrite); writes to customers wait while the indexes
-- are built, about a second for each million rows and index.
alter table customers.customers
  -- what name_tokens holds of the customer, so that a change removes exactly that.
  add column name_tokens bigint[],
  -- updated_at of the KYC that name_tokens was made of. Null or earlier than updated_at: the names are to be indexed.
  add column names_indexed_at timestamptz;
create index customers_by_type on customers.customers (partner_id, customer_type, id);
create index customers_by_time on customers.customers (partner_id, created_at, id);
create index customers_by_change on customers.customers (partner_id, updated_at, id);
create index customers_names_due on customers.customers (partner_id, id)
  where names_indexed_at is null or names_indexed_at < updated_at;

-- The key of a partner's name_tokens, sealed under the master key. It never changes, also when the master key does.
create table customers.name_keys (
  partner_id uuid not null references access.partners (id),
  key_sealed bytea not null,
  created_at timestamptz not null,
  primary key (partner_id)
);
select public.shard('customers.name_keys');

create table customers.name_tokens (
  partner_id uuid not null,
  -- the first 64 bits of the keyed hash of a prefix.
  token bigint not null,
  customer_id uuid not null,
  primary key (partner_id, token, customer_id),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id)
);
select public.shard('customers.name_tokens');
