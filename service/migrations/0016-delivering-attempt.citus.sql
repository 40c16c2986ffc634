-- A delivery carries the attempt that delivered it; the log of attempts holds those that did not.
-- Why: nearly all deliveries succeed at once, and each wrote two rows with nearly the same key: a fifth of what PostgreSQL
-- did for a delivery.
-- The text for Citus, which refuses checks in `add column`.
-- Locks: brief. What was delivered before stays as it is, with its attempt in the log, until its week goes.

alter table webhooks.deliveries
  -- null: delivered before this migration, by an attempt that stands in webhooks.attempts.
  add column started_at timestamptz,
  add column duration_ms integer,
  add column status integer,
  add column response_body text,
  -- the vetted address that answered; for operators, never shown to the partner.
  add column address text;
alter table webhooks.deliveries add constraint deliveries_duration_ms_check check (duration_ms >= 0);
