-- Idempotency: the answers of operations with the header `Idempotency-Key`. A partner that gets no answer repeats the request; without a key the
-- repetition would create a second resource.
-- Locks: none, everything is new.

create schema idempotency;

create table idempotency.keys (
  partner_id uuid not null references access.partners (id),
  operation text not null,
  idempotency_key text not null check (length(idempotency_key) between 1 and 255),
  answer_sealed bytea, -- the fingerprint of the request and its answer; null: the request runs.
  created_at timestamptz not null,
  customer_id uuid, -- whose data the answer has. Null: none, or erased.
  primary key (partner_id, operation, idempotency_key)
);
select public.shard('idempotency.keys');
create index keys_by_time on idempotency.keys (partner_id, operation, created_at); -- An erasure finds answers without a customer by their time.
create index keys_by_customer on idempotency.keys (partner_id, customer_id) where customer_id is not null;
-- An erasure frees the keys of requests that run, because their answers may have what it erases.
create index keys_without_answer on idempotency.keys (partner_id) where answer_sealed is null;
