-- Cases: reports of banks that match no payment, and what staff decides about them. Their money is in suspense.
-- Locks: none, everything is new.

create schema cases;

create table cases.cases (
  partner_id uuid not null references access.partners (id), id uuid not null,
  kind text not null check (kind in ('unknown_payment', 'contradiction', 'amount_differs', 'credit_reversed', 'bank_fee', 'doubled', 'unknown_debit',
    'file_unreadable', 'file_refused', 'message_differs', 'statement_gap', 'statement_overlap', 'sum_differs', 'payment_missing', 'foreign_currency',
    'entry_unclear', 'unexplained', 'account_blocked', 'sanctions_hold', 'announced_missing', 'payee_mismatch', 'safeguarding',
    'customer_not_verified', 'monitoring_alert', 'recall_letter', 'payer_data_missing')),
  connector text not null,
  notification_id text not null, -- a repeated notification opens no second case.
  subject text not null, -- an instruction, a deposit, or the bank's own reference.
  report text not null, -- as the bank sent it.
  currency text,
  booked bigint check (booked <> 0), -- minor units, from the connector's settlement account to suspense; below zero the other way; null: none.
  opened_at timestamptz not null,
  resolved_at timestamptz,
  resolution text check (resolution in ('credited', 'reversed', 'written_off', 'noted', 'matched', 'booked_to_fees', 'returned', 'gone', 'released',
    'announced', 'charged', 'refused')),
  resolved_by text, note text,
  proposal_id uuid, -- of one person, until another approves it.
  proposal text, -- JSON: the action, and whom or what it names.
  proposed_by text, proposed_at timestamptz,
  returning_since timestamptz, -- its money is being sent back: cases.returns.
  owner_id uuid, owner_name text, owned_since timestamptz, -- of staff. The name stands beside it, because the account may be removed.
  primary key (partner_id, id),
  constraint cases_notification unique (partner_id, connector, notification_id),
  check ((currency is null) = (booked is null)),
  check ((resolved_at is null) = (resolution is null)),
  constraint cases_proposal_check check ((proposal_id is null) = (proposal is null) and (proposal_id is null) = (proposed_by is null)
    and (proposal_id is null) = (proposed_at is null)),
  constraint cases_owner_check check ((owner_id is null) = (owner_name is null) and (owner_id is null) = (owned_since is null))
);
select public.shard('cases.cases');
create index cases_open on cases.cases (opened_at, id) where resolved_at is null;
create index cases_proposed on cases.cases (proposed_at, id) where proposal_id is not null;
-- Movements of the ledger that no entry of a bank has caused.
create index cases_reversed on cases.cases (connector, currency, resolved_at) where resolution = 'reversed';
create index cases_by_notification on cases.cases (connector, notification_id); -- Resolved cases too, without their partner.
create index cases_debits on cases.cases (opened_at) where booked < 0; -- Money that left and that no case had decided about at the end of a day.
create index cases_owned on cases.cases (owner_id, opened_at, id) where resolved_at is null and owner_id is not null;
create index cases_unowned on cases.cases (opened_at, id) where resolved_at is null and owner_id is null;
create index cases_by_subject on cases.cases (partner_id, subject, opened_at desc, id desc); -- The desk shows the cases of a payment.

-- Who decided what, when and why. Rows are only added.
create table cases.decisions (
  partner_id uuid not null,
  case_id uuid not null,
  sequence integer not null check (sequence > 0), -- from 1 for each case, without gaps.
  -- `remarked`: a note that decides nothing.
  kind text not null check (kind in ('proposed', 'replaced', 'withdrawn', 'rejected', 'expired', 'approved', 'noted', 'gone', 'released',
    'return_refused', 'return_rejected', 'return_booked', 'taken', 'given', 'handed_back', 'remarked')),
  actor text not null, -- a person, or the part of the service that decided by itself.
  proposal_id uuid,
  action text,
  note text not null,
  before text not null, -- JSON of the case.
  after text not null,
  decided_at timestamptz not null,
  primary key (partner_id, case_id, sequence),
  foreign key (partner_id, case_id) references cases.cases (partner_id, id)
);
select public.shard('cases.decisions');

-- Money of cases on its way back to its sender: an instruction of the connector each.
create table cases.returns (
  partner_id uuid not null,
  id uuid not null, -- the instruction's id at the bank, and that of the approved proposal.
  case_id uuid not null,
  connector text not null, currency text not null, amount bigint not null check (amount > 0),
  creditor_name text not null, creditor_account text not null, creditor_bic text,
  remittance text not null,
  status text not null check (status in ('Due', 'Sent', 'Refused', 'Rejected', 'Returned', 'Booked')),
  attempts integer not null check (attempts >= 0),
  due_at timestamptz, -- of an attempt, or the end of its lease; null: it is at the bank, or has ended.
  lease_id uuid,
  created_at timestamptz not null, updated_at timestamptz not null,
  settled_by text, ended_by text, -- the bank notification that settled it, and the one that ended it otherwise.
  primary key (partner_id, id),
  foreign key (partner_id, case_id) references cases.cases (partner_id, id)
);
select public.shard('cases.returns');
create index returns_due on cases.returns (connector, due_at, id) where due_at is not null;
