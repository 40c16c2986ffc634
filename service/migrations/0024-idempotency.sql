-- Idempotency: the answers of operations whose idempotency key is in the header `Idempotency-Key`.
-- Why: a partner that gets no answer repeats the request; without a key it would create a second resource.
-- Processes of the version before may run: they do not use the table.
-- Locks: writes to partners wait for an instant while the foreign key is added.

create schema idempotency;

create table idempotency.keys (
  partner_id uuid not null references access.partners (id),
  operation text not null,
  idempotency_key text not null check (length(idempotency_key) between 1 and 255),
  -- the fingerprint of the request and its answer; null only in the transaction that inserts the row.
  answer_sealed bytea,
  created_at timestamptz not null,
  primary key (partner_id, operation, idempotency_key)
);
select public.shard('idempotency.keys');
