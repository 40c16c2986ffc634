-- Customers: whom a partner's money moves for, and the KYC data of each.
-- Why: KYC is one sealed value (AES-256-GCM under the master key), so that no dump, replica or log of the database
-- holds any of it in plain text. customer_type stands beside it, because lists filter by it.
-- Locks: none on existing data; everything here is new.

create table customers.customers (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  -- the service's identifier, as partners see it: cus_ and 80 bits of randomness.
  service_id text not null check (service_id ~ '^cus_[0-9a-hjkmnp-tv-z]{16}$'),
  -- the partner's own business: not unique.
  partner_customer_identifier text,
  email text,
  customer_type text not null check (customer_type in ('Individual', 'Business', 'SoleTrader')),
  kyc_sealed bytea not null,
  created_at timestamptz not null,
  updated_at timestamptz not null check (updated_at >= created_at),
  primary key (partner_id, id),
  unique (partner_id, service_id)
);
create index customers_by_email on customers.customers (partner_id, lower(email), id);
create index customers_by_identifier on customers.customers (partner_id, partner_customer_identifier, id);
select public.shard('customers.customers');
