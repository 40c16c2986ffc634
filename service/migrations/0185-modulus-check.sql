-- The tables of the modulus check of British account numbers, as Vocalink publishes them. They belong to no partner.
-- Why: a sort code and an account number have no check digits of their own, and a wrong one is found weeks later, if at all.
-- Processes of the version before may run: they do not know the tables.
-- Locks: none on existing data; everything here is new.
create table beneficiaries.modulus_tables (
  version integer primary key,
  -- SHA-256 of both files, in hexadecimal digits.
  hash text not null,
  loaded_at timestamptz not null,
  loaded_by text not null,
  ranges integer not null,
  substitutes integer not null
);
select public.replicate('beneficiaries.modulus_tables');

create table beneficiaries.modulus_weights (
  line integer primary key,
  first text not null,
  last text not null,
  method text not null check (method in ('MOD10', 'MOD11', 'DBLAL')),
  weights integer[] not null check (cardinality(weights) = 14),
  exception integer
);
create index modulus_weights_by_range on beneficiaries.modulus_weights (last, first);
select public.replicate('beneficiaries.modulus_weights');

create table beneficiaries.modulus_substitutes (
  original text primary key,
  substitute text not null
);
select public.replicate('beneficiaries.modulus_substitutes');
