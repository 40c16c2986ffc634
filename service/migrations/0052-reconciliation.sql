-- Reconciliation: what the bank and the ledger stood at, and what the difference between them consisted of, look by look.
-- Why: whether both agree must be known every day, also of past days, and a difference must not get younger by being looked at again.
-- What belongs to an account at a bank belongs to no partner: it is replicated. The sums of the ledger are read by an index.
-- Processes of the version before may run: they do not reconcile.
-- Locks: writes to the ledger's accounts wait while two indexes are built, of one or two rows for each partner; nothing else that
-- processes of the version before write.
create schema reconciliation;

create table reconciliation.accounts (
  connector text not null,
  -- IBAN; `suspense`: the accounts `suspense` of all partners against the open cases.
  account text not null,
  currency text not null,
  -- of reconciliation.runs: the last one.
  run_id uuid,
  checked_at timestamptz,
  -- since when, look after look, something was left over.
  unexplained_since timestamptz,
  -- whether a case says so.
  has_case boolean not null,
  primary key (connector, account, currency)
);
select public.replicate('reconciliation.accounts');

-- A run holds from its first look to its last: looks that found the same are one run. Minor units; the difference is ledger - bank.
create table reconciliation.runs (
  id uuid primary key,
  connector text not null,
  account text not null,
  currency text not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  -- the first that saw this statement: kept for good.
  is_of_statement boolean not null,
  -- of rails.iso_statements, the last one; null: there is none yet.
  statement_id uuid,
  statement_on date,
  opening bigint,
  closing bigint,
  -- what the bank says that moved since the opening of the first statement, and what moved in the ledger.
  bank bigint not null,
  ledger bigint not null,
  unexplained bigint not null
);
create index runs_of_account on reconciliation.runs (connector, account, currency, first_at);
create index runs_by_age on reconciliation.runs (last_at) where not is_of_statement;
select public.replicate('reconciliation.runs');

create table reconciliation.items (
  run_id uuid not null references reconciliation.runs (id) on delete cascade,
  -- difference: a part of ledger - bank. suspense: a part of what stands in suspense. memo: neither, for people.
  side text not null check (side in ('difference', 'suspense', 'memo')),
  kind text not null,
  amount bigint not null,
  count bigint not null,
  -- of the oldest one in it.
  oldest_at timestamptz,
  -- since when every look has found some of it.
  first_seen timestamptz not null,
  primary key (run_id, side, kind)
);
select public.replicate('reconciliation.items');

-- What is written of a statement, once all of its entries are in the ledger: a sum over many rows that does not change any more.
create table reconciliation.statements (
  id uuid primary key,
  connector text not null,
  account text not null,
  currency text not null,
  entries bigint not null,
  written bigint not null,
  counted_at timestamptz not null
);
create index statements_of_account on reconciliation.statements (connector, account, currency);
select public.replicate('reconciliation.statements');

create index accounts_of_connectors on ledger.accounts (name, currency) where name like 'settlement.%';
create index accounts_suspense on ledger.accounts (currency) where name = 'suspense';

-- a return that was booked before its payment was.
create index iso_instructions_returned on rails.iso_instructions (connector, updated_at) where status = 'Returned' and entry_id is null;
-- payments that an unknown debit or credit might be.
create index iso_instructions_by_amount on rails.iso_instructions (connector, currency, amount);
