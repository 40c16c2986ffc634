-- Reconciliation: the balances of bank and ledger, and the parts of their difference, look by look. A difference keeps its age, however often it is
-- looked at. An account at a bank belongs to no partner: the tables are replicated.
-- Locks: none, everything is new.

create schema reconciliation;

create table reconciliation.accounts (
  connector text not null,
  account text not null, -- IBAN; `suspense`: the accounts `suspense` of all partners against the open cases.
  currency text not null,
  run_id uuid, -- of reconciliation.runs: the last one.
  checked_at timestamptz,
  unexplained_since timestamptz, -- since then every look has found a rest.
  has_case boolean not null, -- a case says so.
  primary key (connector, account, currency)
);
select public.replicate('reconciliation.accounts');

-- Looks that found the same are one run. Minor units; the difference is ledger - bank.
create table reconciliation.runs (
  id uuid primary key,
  connector text not null, account text not null, currency text not null,
  first_at timestamptz not null, last_at timestamptz not null,
  is_of_statement boolean not null, -- the first that saw this statement: kept for good.
  statement_id uuid, statement_on date, -- of rails.iso_statements, the last one; null: none yet.
  opening bigint, closing bigint,
  bank bigint not null, ledger bigint not null, -- what moved by the bank since the opening of the first statement, and what moved in the ledger.
  unexplained bigint not null
);
select public.replicate('reconciliation.runs');
create index runs_of_account on reconciliation.runs (connector, account, currency, first_at);
create index runs_by_age on reconciliation.runs (last_at) where not is_of_statement;
create index runs_of_statements on reconciliation.runs (connector, account, currency, first_at) where is_of_statement;

create table reconciliation.items (
  run_id uuid not null references reconciliation.runs (id) on delete cascade,
  -- difference: a part of ledger - bank. suspense: a part of suspense. memo: neither, for people.
  side text not null check (side in ('difference', 'suspense', 'memo')),
  kind text not null,
  amount bigint not null, count bigint not null,
  oldest_at timestamptz, -- of the oldest one in it.
  first_seen timestamptz not null, -- since then every look has found some of it.
  primary key (run_id, side, kind)
);
select public.replicate('reconciliation.items');

-- The written sum of a statement whose entries are all in the ledger: it no longer changes.
create table reconciliation.statements (
  id uuid primary key,
  connector text not null, account text not null, currency text not null,
  entries bigint not null, written bigint not null,
  counted_at timestamptz not null
);
select public.replicate('reconciliation.statements');
create index statements_of_account on reconciliation.statements (connector, account, currency);
