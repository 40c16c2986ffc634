-- Checkout sessions that are paid in parts: each bank credit of such a deposit, until its sum is complete.
-- Why: issue 28. Payers split a payment, or their bank does; until now another amount than the whole failed the session.
-- Processes of the version before may run: they make no deposits with `in_parts`. One that reads a credit for such a deposit takes it as
-- the only payment: open sessions in parts once none of them runs.
-- Locks: deposits, refunds and accounts, for an instant. Rows of before satisfy the narrower rules that these replace, or have no such name.
alter table deposits.deposits add column in_parts boolean not null default false;
alter table deposits.deposits drop constraint deposits_status_check;
alter table deposits.deposits add constraint deposits_status_check check (status in
  ('Created', 'Initiated', 'Submitted', 'PartiallyPaid', 'Accepted', 'Screening', 'Completed', 'Failed', 'Expired')) not valid;

create table deposits.parts (
  partner_id uuid not null,
  id uuid not null,
  deposit_id uuid not null,
  connector text not null,
  -- the connector's id of the credit, or of the report.
  credit_id text not null,
  notification_id text not null,
  -- what counts: a surplus is in suspense.
  amount bigint not null check (amount > 0),
  status text not null check (status in ('Held', 'Screening', 'Credited', 'Suspended', 'Reversed')),
  -- account, debtor, remittance and reference of the credit, as JSON. Null: the customer was erased.
  report text,
  received_at timestamptz not null,
  reversed_at timestamptz,
  -- the notification that took it back.
  reversed_by text,
  primary key (partner_id, id),
  foreign key (partner_id, deposit_id) references deposits.deposits (partner_id, id)
);
create unique index parts_credit on deposits.parts (partner_id, connector, credit_id);
create index parts_by_credit on deposits.parts (credit_id, connector);
create index parts_of_deposit on deposits.parts (partner_id, deposit_id, id);
select public.shard('deposits.parts');

-- The part that a refund sends back. Null: the session takes one payment.
alter table checkout.refunds add column part_id uuid;

-- The account of parts holds what has arrived: it never falls below zero.
alter table ledger.accounts drop constraint accounts_never_negative;
alter table ledger.accounts add constraint accounts_never_negative
  check (name not in ('balance', 'parts') or posted >= reserved) not valid;
