-- Pools of IBANs that the operator imports from a bank's file, and which of them accounts have taken.
-- Why: issue 19. Many banks hand out lists of IBANs instead of a range of account numbers. An IBAN is given once, to one account.
-- A shared pool is that of the operator (partner 00000000-0000-8000-8000-000000000000). So every statement names one partner, and a taken
-- IBAN is a row of its own: no row is changed by two openings of accounts (decision 0061).
-- Processes of the version before may run: they issue from ranges of account numbers only.
-- Locks: exclusive, for an instant, on accounts.ibans (a nullable column is no rewrite); writes to partners wait for an instant while the
-- foreign key is added.

create table accounts.imported_pools (
  -- the operator: all partners share the pool.
  partner_id uuid not null references access.partners (id),
  name text not null check (name ~ '^[a-z0-9][a-z0-9-]{0,31}$'),
  country text not null check (country ~ '^[A-Z]{2}$'),
  currency text not null,
  -- the bank that the IBANs are of. Null: the file did not say.
  connector text,
  created_at timestamptz not null,
  -- what was free was withdrawn, and nothing was imported since.
  withdrawn_at timestamptz,
  primary key (partner_id, name)
);
select public.shard('accounts.imported_pools');

-- One row for each file that was imported.
create table accounts.iban_imports (
  partner_id uuid not null,
  id uuid not null,
  pool text not null,
  -- SHA-256 of the file.
  file_hash text not null,
  imported integer not null check (imported >= 0),
  skipped integer not null check (skipped >= 0),
  imported_at timestamptz not null,
  imported_by text not null,
  primary key (partner_id, id),
  constraint iban_imports_file unique (partner_id, pool, file_hash),
  foreign key (partner_id, pool) references accounts.imported_pools (partner_id, name)
);
select public.shard('accounts.iban_imports');

-- Without a foreign key, whose check would cost more than the insert. An import locks its pool first.
create table accounts.imported_ibans (
  partner_id uuid not null,
  iban text not null,
  pool text not null,
  country text not null check (iban like country || '%'),
  bic text,
  import_id uuid not null,
  -- of the file, from 1.
  line integer not null check (line > 0),
  given_at timestamptz,
  -- the partner whose customer has it, or had it.
  given_to uuid,
  -- since when the account that had it is closed.
  quarantined_at timestamptz,
  withdrawn_at timestamptz,
  primary key (partner_id, iban),
  check ((given_at is null) = (given_to is null)),
  check (quarantined_at is null or given_at is not null),
  check (withdrawn_at is null or given_at is null)
);
-- The next free IBAN of a country, and how many of a pool are free, whatever the size of the pool.
create index imported_ibans_free on accounts.imported_ibans (partner_id, country, pool, import_id, line)
  where given_at is null and withdrawn_at is null;
-- How many a pool has given lately.
create index imported_ibans_given on accounts.imported_ibans (partner_id, pool, given_at) where given_at is not null;
-- In which pool an IBAN is, whose partner its reader does not know.
create index imported_ibans_by_iban on accounts.imported_ibans (iban);
select public.shard('accounts.imported_ibans');

-- The BIC that the file had for an IBAN. Null: that of the issuer, if it is configured.
alter table accounts.ibans add column bic text;
