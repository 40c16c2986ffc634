-- The audit log: records of changes and of sensitive reads, their chain, daily signed heads and the keys that sign them.
-- Why: a partner and a regulator must be able to show that no record was changed, dropped or moved. A transaction only adds
-- its records; a loop chains them afterwards, so that no lock of a partner serialises its payments.
-- Processes of the version before may run: they do not use the tables, and their changes have no record.
-- Locks: writes to partners wait for an instant while the foreign keys are added.

create schema audit;

create table audit.records (
  partner_id uuid not null,
  id uuid not null,
  -- JSON, exactly as it is hashed.
  content text not null,
  primary key (partner_id, id)
);
select public.shard('audit.records');

create table audit.chains (
  partner_id uuid not null references access.partners (id),
  sequence bigint not null check (sequence >= 0),
  -- the greatest id of a chained record.
  record_id uuid not null,
  hash bytea not null check (length(hash) = 32),
  -- the last record under a signed head.
  head_sequence bigint not null check (head_sequence between 0 and sequence),
  primary key (partner_id)
);
select public.shard('audit.chains');

create table audit.links (
  partner_id uuid not null,
  sequence bigint not null check (sequence > 0),
  record_id uuid not null,
  leaf bytea not null check (length(leaf) = 32),
  hash bytea not null check (length(hash) = 32),
  primary key (partner_id, sequence),
  constraint links_once unique (partner_id, record_id)
);
select public.shard('audit.links');

create table audit.keys (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  public_key text not null,
  private_key_sealed bytea not null,
  created_at timestamptz not null,
  primary key (partner_id, id)
);
select public.shard('audit.keys');

create table audit.heads (
  partner_id uuid not null,
  last_sequence bigint not null,
  first_sequence bigint not null check (first_sequence between 1 and last_sequence),
  -- JSON, exactly as it is signed.
  content text not null,
  signature bytea not null check (length(signature) = 64),
  key_id uuid not null,
  primary key (partner_id, last_sequence)
);
select public.shard('audit.heads');

-- Roots of the subtrees of 1,024 records under a head: a proof reads one of them and not the records of the day.
create table audit.subtrees (
  partner_id uuid not null,
  first_sequence bigint not null,
  position integer not null check (position >= 0),
  hash bytea not null check (length(hash) = 32),
  primary key (partner_id, first_sequence, position)
);
select public.shard('audit.subtrees');
