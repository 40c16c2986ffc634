-- The master keys under which values of this database may be sealed.
-- Why: a process with another key started, was ready, and answered 500. Every role now compares its key before it listens.
-- `check_value` is derived from the key (HKDF-SHA-256) and reveals nothing about it. The first start that opens the
-- database writes its row; `operator keys reseal` deletes the rows of earlier keys.
-- Processes of the version before ignore the table, so that both versions may run.
-- Locks: none on existing data; the table is new.

create table access.master_keys (
  -- the key id that every sealed value contains, in hexadecimal digits.
  key_id text primary key,
  check_value bytea not null,
  created_at timestamptz not null
);
select public.replicate('access.master_keys');
