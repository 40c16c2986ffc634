-- Locks of the partner's identifiers of its customers: an identifier names one customer.
-- Why: a partner that sent a customer twice had two, and paid for the wrong one (issue 28).
-- Processes of the version before may run: they give an identifier to several customers. Customers that share one already keep it.
-- Locks: writes to partners wait for an instant while the foreign key is added.
create table customers.identifier_locks (
  partner_id uuid not null references access.partners (id),
  -- a part of the digest of the identifier: few rows, and no personal data.
  bucket smallint not null,
  primary key (partner_id, bucket)
);
select public.shard('customers.identifier_locks');
