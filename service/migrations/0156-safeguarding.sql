-- Safeguarding: the bank accounts that hold the clients' money, and the signed comparison of each day.
-- Why: client money by the ledger is compared with these accounts by the bank's statements, day by day, and an auditor reads what was
-- found then (docs/decisions/0089-safeguarding.md).
-- What belongs to an account at a bank belongs to no partner: it is replicated. Rows of `records` are added and never changed.
-- Processes of the version before may run: they do not read these tables.
-- Locks: none on tables that exist.
create schema safeguarding;

create table safeguarding.accounts (
  -- IBAN, as the bank's configuration names it.
  account text not null,
  currency text not null,
  connector text not null,
  -- the first day, and the day after the last one; null: it is designated still.
  from_day date not null,
  until_day date check (until_day > from_day),
  set_by text not null,
  set_at timestamptz not null,
  primary key (account, currency)
);
select public.replicate('safeguarding.accounts');

create table safeguarding.records (
  day date not null,
  currency text not null,
  -- 1, then one more for each correction.
  version integer not null check (version > 0),
  status text not null check (status in ('balanced', 'excess', 'shortfall', 'unexplained', 'incomplete')),
  -- JSON. The text is signed as it stands; digest: its SHA-256 in hexadecimal.
  content text not null,
  digest text not null,
  signature bytea not null,
  -- SPKI, base64.
  public_key text not null,
  computed_at timestamptz not null,
  primary key (day, currency, version)
);
select public.replicate('safeguarding.records');
