-- Deposits: money on its way to a customer or to the partner, and what is known about its payer.
-- Locks: none, everything is new.

create schema deposits;

-- With space on its pages: a deposit is written four times, in place and without new entries in the indexes.
create table deposits.deposits (
  partner_id uuid not null references access.partners (id), id uuid not null,
  operation text not null,
  idempotency_key text,
  request_hash text not null,
  transaction_id uuid not null, reference text not null,
  customer_id uuid,
  amount bigint not null check (amount > 0), currency text not null,
  status text not null check (status in ('Created', 'Initiated', 'Submitted', 'PartiallyPaid', 'Accepted', 'Screening', 'Completed', 'Failed',
    'Expired')),
  session_id text not null, end_to_end_id text not null, payment_method text not null, payment_country text not null,
  ip_address text not null,
  website_reference text, custom_fields text,
  debtor text, -- JSON, known once the bank has booked the credit.
  error_details text,
  expires_at timestamptz, -- Expired if it is not funded by then. Null: it no longer can be.
  expiry_date timestamptz not null, created_at timestamptz not null, updated_at timestamptz not null,
  held_since timestamptz, -- the bank has the payment, which has not ended.
  creditor_reference text, -- ISO 11649, by which a payer names the deposit.
  connector text,
  credit_id text, -- the connector's id of the credit.
  transaction_hash text, -- on a blockchain.
  reversed_at timestamptz, -- the credit was taken back.
  screening_since timestamptz, -- waits for a decision about a name on a list.
  screening_due_at timestamptz, -- when a worker looks whether the names are decided.
  settled_by text, reversed_by text, -- the bank notification that settled it, and the one that took it back.
  craft_text text, -- texts that may name a vessel, one a line: remittance, references, items. Null: none.
  in_parts boolean not null default false, -- several bank credits pay it.
  primary key (partner_id, id),
  constraint deposits_key unique (partner_id, operation, idempotency_key),
  unique (partner_id, reference)
) with (fillfactor = 50);
select public.shard('deposits.deposits');
create index deposits_expiring on deposits.deposits (expires_at) where expires_at is not null;
create index deposits_held on deposits.deposits (held_since) where held_since is not null;
create unique index deposits_credit on deposits.deposits (partner_id, connector, credit_id) where credit_id is not null;
create index deposits_by_credit on deposits.deposits (credit_id, connector) where credit_id is not null;
create unique index deposits_reference_named on deposits.deposits (partner_id, creditor_reference) where creditor_reference is not null;
create index deposits_by_creditor_reference on deposits.deposits (creditor_reference) where creditor_reference is not null;
create index deposits_screening_due on deposits.deposits (screening_due_at) where screening_due_at is not null;
create index deposits_in_screening on deposits.deposits (screening_since) where screening_since is not null;
create index deposits_in_parts on deposits.deposits (partner_id, customer_id, id) where in_parts;

-- Bank credits of a session that is paid in parts, until its sum is complete.
create table deposits.parts (
  partner_id uuid not null, id uuid not null,
  deposit_id uuid not null,
  connector text not null,
  credit_id text not null, -- the connector's id of the credit or of the report.
  notification_id text not null,
  amount bigint not null check (amount > 0), -- what counts: a surplus is in suspense.
  status text not null check (status in ('Held', 'Screening', 'Credited', 'Suspended', 'Reversed')),
  report text, -- JSON: account, debtor, remittance and reference. Null: the customer was erased.
  received_at timestamptz not null,
  reversed_at timestamptz,
  reversed_by text, -- the notification that took it back.
  primary key (partner_id, id),
  foreign key (partner_id, deposit_id) references deposits.deposits (partner_id, id)
);
select public.shard('deposits.parts');
create unique index parts_credit on deposits.parts (partner_id, connector, credit_id);
create index parts_by_credit on deposits.parts (credit_id, connector);
create index parts_of_deposit on deposits.parts (partner_id, deposit_id, id);

-- What happens to a payment without data of its payer (Regulation (EU) 2023/1113, Art. 7 and 8).
create table deposits.payer_rules (
  region text not null check (region in ('inside', 'outside')), -- of the payer's bank: inside the European Economic Area, or outside.
  currency text not null,
  above bigint not null check (above >= 0), -- minor units: the rule is for larger amounts.
  measure text not null check (measure in ('accept', 'ask', 'reject')),
  answer_days integer not null check (answer_days between 1 and 90), -- for the payer's bank.
  set_at timestamptz not null,
  primary key (region, currency, above)
);
select public.replicate('deposits.payer_rules');

-- What incoming payments lack, and which banks fail repeatedly.
create table deposits.payer_checks (
  partner_id uuid not null,
  id uuid not null, -- of the deposit.
  bank text not null, -- BIC of eight characters, or country and bank code of the IBAN. Empty: unknown.
  region text not null check (region in ('inside', 'outside')),
  currency text not null, amount bigint not null,
  lacks text not null check (lacks <> ''), -- with spaces between: name, account, address.
  measure text not null check (measure in ('accept', 'ask', 'reject')),
  answer_by timestamptz check ((answer_by is not null) = (measure = 'ask')), -- until then the money waits. Null: it does not.
  decision text check (decision is null or (decision in ('received', 'refused') and measure = 'ask')),
  decided_at timestamptz check ((decided_at is null) = (decision is null)),
  found_at timestamptz not null,
  primary key (partner_id, id),
  foreign key (partner_id, id) references deposits.deposits (partner_id, id)
);
select public.shard('deposits.payer_checks');
create index payer_checks_by_time on deposits.payer_checks (found_at);
create index payer_checks_waiting on deposits.payer_checks (answer_by) where decision is null and measure = 'ask';
