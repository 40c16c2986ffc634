-- Reviews of customers: the class of risk that the operator has given, and when it looks again.
-- Why: the operator keeps what it knows of a customer up to date, the sooner the higher the risk (AMLD, Art. 14(5); issue 28).
-- Processes of the version before may run: they do not read this table. An erasure that they end leaves the review, which has no name.
-- Locks: writes to customers wait for an instant while the foreign key is added.
create table customers.reviews (
  partner_id uuid not null,
  customer_id uuid not null,
  risk text not null check (risk in ('low', 'medium', 'high')),
  reviewed_by text not null,
  reviewed_at timestamptz not null,
  due_on date not null,
  primary key (partner_id, customer_id),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id)
);
select public.shard('customers.reviews');
create index reviews_by_due on customers.reviews (due_on);
