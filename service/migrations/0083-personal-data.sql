-- Personal data of a customer: the indexes by which an export and an erasure find it, and what the audit log says about a customer.
-- Why: a data subject may ask for everything that is held about it (GDPR, Art. 15). Without these indexes each such request would read
-- every beneficiary and every quote of the partner, and every record of its audit log.
-- Processes of the version before may run: what they record has no row in audit.subjects.
-- Locks: writes to beneficiaries, quotes and idempotency keys wait while the indexes are built, each about a second for each million rows.

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
