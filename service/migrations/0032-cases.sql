-- Cases: reports of a bank that fit nothing we know, for an operator to resolve. Their money is booked to suspense.
-- Why: such a report was only logged, and acknowledged.
-- Processes of the version before may run: they open no cases.
-- Locks: none on existing data; everything here is new.
create schema cases;
create table cases.cases (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  kind text not null check (kind in ('unknown_payment', 'contradiction', 'amount_differs')),
  connector text not null,
  -- the bank's notification: a repeated one opens no second case.
  notification_id text not null,
  -- what the bank's report names: an instruction, a deposit, or its own reference.
  subject text not null,
  -- the report as the bank sent it.
  report text not null,
  currency text,
  -- minor units, from the connector's settlement account to suspense; below zero the other way; null: no money.
  booked bigint,
  opened_at timestamptz not null,
  resolved_at timestamptz,
  resolution text check (resolution in ('credited', 'reversed', 'written_off', 'noted')),
  resolved_by text,
  note text,
  primary key (partner_id, id),
  constraint cases_notification unique (partner_id, connector, notification_id),
  check ((currency is null) = (booked is null)),
  check (booked <> 0),
  check ((resolved_at is null) = (resolution is null))
);
create index cases_open on cases.cases (opened_at, id) where resolved_at is null;
select public.shard('cases.cases');
