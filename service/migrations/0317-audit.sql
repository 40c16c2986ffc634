-- The audit log: records of changes and of sensitive reads, their chain, and daily signed heads. A partner and a regulator can prove that no record
-- was changed, dropped or moved. A transaction only adds its records; a loop chains them afterwards, so that no lock of a partner serialises its
-- payments.
-- Locks: none, everything is new.

create schema audit;

create table audit.records (
  partner_id uuid not null, id uuid not null,
  content text not null, -- JSON, exactly as it is hashed.
  primary key (partner_id, id)
);
select public.shard('audit.records');

create table audit.chains (
  partner_id uuid not null references access.partners (id),
  sequence bigint not null check (sequence >= 0),
  record_id uuid not null, -- the greatest id of a chained record.
  hash bytea not null check (length(hash) = 32),
  head_sequence bigint not null check (head_sequence between 0 and sequence), -- the last record under a signed head.
  primary key (partner_id)
);
select public.shard('audit.chains');

-- A link chains a stretch of up to 1,000 records that follow one another, or a single record.
create table audit.links (
  partner_id uuid not null,
  sequence bigint not null check (sequence > 0),
  record_id uuid not null,
  leaf bytea not null, -- 32 bytes for each record.
  hash bytea not null check (length(hash) = 32),
  records integer not null, -- chained by this link. The last one has `sequence` and `record_id`.
  record_ids uuid[], -- in their order. Null: one record.
  primary key (partner_id, sequence),
  constraint links_once unique (partner_id, record_id),
  constraint links_stretch check (records = coalesce(cardinality(record_ids), 1) and length(leaf) = 32 * records and (record_ids is null
    or records > 1 and record_ids[records] = record_id))
);
select public.shard('audit.links');
create index links_stretches on audit.links (partner_id, record_id) where record_ids is not null;

create table audit.keys (
  partner_id uuid not null references access.partners (id), id uuid not null,
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
  content text not null, -- JSON, exactly as it is signed.
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

-- The records of requests that name a customer in their path.
create table audit.subjects (
  partner_id uuid not null,
  subject text not null, -- as in the path: an id in lower case, or a serviceId.
  record_id uuid not null,
  primary key (partner_id, subject, record_id)
);
select public.shard('audit.subjects');
