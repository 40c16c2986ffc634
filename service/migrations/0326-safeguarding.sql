-- Safeguarding: the bank accounts that hold the clients' money, and the signed comparison of each day (decision 0089). An account at a bank belongs
-- to no partner: the tables are replicated.
-- Locks: none, everything is new.

create schema safeguarding;

create table safeguarding.accounts (
  account text not null, -- IBAN, as in the bank's configuration.
  currency text not null, connector text not null,
  from_day date not null, until_day date check (until_day > from_day), -- the first day, and the day after the last one; null: still designated.
  set_by text not null, set_at timestamptz not null,
  primary key (account, currency)
);
select public.replicate('safeguarding.accounts');

-- Rows are only added.
create table safeguarding.records (
  day date not null,
  currency text not null,
  version integer not null check (version > 0), -- from 1, one more for each correction.
  status text not null check (status in ('balanced', 'excess', 'shortfall', 'unexplained', 'incomplete')),
  content text not null, -- JSON, exactly as it is signed; digest: its SHA-256 in hexadecimal.
  digest text not null,
  signature bytea not null,
  public_key text not null, -- SPKI, base64.
  computed_at timestamptz not null,
  primary key (day, currency, version)
);
select public.replicate('safeguarding.records');
