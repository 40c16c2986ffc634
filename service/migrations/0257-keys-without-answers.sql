-- An index of the idempotency keys without an answer.
-- Why: the operations that do not create something take their key before they run, and keep their answer afterwards. An erasure frees the
-- keys of requests that run, because their answers may have what it erases; without the index it would read every key of the partner.
-- Processes of the version before may run: their keys have an answer when they are committed.
-- Locks: requests with an Idempotency-Key wait while the index is built, about a second for each million keys.
create index keys_without_answer on idempotency.keys (partner_id) where answer_sealed is null;
