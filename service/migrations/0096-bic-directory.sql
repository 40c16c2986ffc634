-- A directory of banks: the BIC of each bank code that IBANs have in a country. The operator loads it from a file.
-- Why: issue 19. An IBAN names the bank by its national code; instructions and schemes ask for the BIC.
-- Processes of the version before may run: they complete no BIC, and `operator bic load` completes what they have created.
-- Locks: exclusive, for an instant, on beneficiaries (a nullable column is no rewrite).

-- One row for each file that was loaded. The newest one is the directory.
create table beneficiaries.bic_directories (
  version integer primary key check (version > 0),
  -- SHA-256 of the file.
  hash text not null,
  loaded_at timestamptz not null,
  loaded_by text not null,
  entries integer not null check (entries > 0),
  -- against the version before it.
  added integer not null,
  changed integer not null,
  removed integer not null
);
select public.replicate('beneficiaries.bic_directories');

-- An entry as it was from one version on until another one changed or removed it.
create table beneficiaries.bics (
  -- of the IBAN.
  country text not null check (country ~ '^[A-Z]{2}$'),
  -- the bank identifier of the IBAN, or bank and branch identifier.
  bank_code text not null check (bank_code ~ '^[A-Z0-9]{1,20}$'),
  from_version integer not null,
  until_version integer,
  bic text not null check (bic ~ '^[A-Z0-9]{8}([A-Z0-9]{3})?$'),
  name text not null check (name <> ''),
  primary key (country, bank_code, from_version),
  check (until_version > from_version)
);
select public.replicate('beneficiaries.bics');

-- Since when the BIC is that of the directory. Null: the partner gave it, or there is none.
alter table beneficiaries.beneficiaries add column bic_completed_at timestamptz;
