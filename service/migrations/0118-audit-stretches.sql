-- A link of the audit log chains a stretch of records, or a single one as before.
-- Why: a link for each record was a row and two index entries for each step of a payment. A stretch keeps the ids and the leaves of up to
-- 1,000 records that follow one another in one row; the hash behind its last record is computed as before.
-- Processes of the version before may run: they can add no link, because `records` has no default, and log that their loop fails. So they
-- do not chain again what a stretch holds; processes of this version chain all. A proof that they give lacks what is in a stretch.
-- Locks: exclusive, for an instant, on links (a column with a constant default is no rewrite); links wait while the index is built.

alter table audit.links
  -- chained by this link. The last one has `sequence` and `record_id`.
  add column records integer not null default 1,
  -- in their order. Null: one.
  add column record_ids uuid[];
alter table audit.links alter column records drop default;
-- `leaf` holds 32 bytes for each record.
alter table audit.links drop constraint links_leaf_check;
alter table audit.links add constraint links_stretch check (
  records = coalesce(cardinality(record_ids), 1) and length(leaf) = 32 * records
  and (record_ids is null or records > 1 and record_ids[records] = record_id)) not valid;
create index links_stretches on audit.links (partner_id, record_id) where record_ids is not null;
