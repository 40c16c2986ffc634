-- Cases under four eyes: a proposal of one person that another one approves, money that is sent back, and the history of decisions.
-- Why: one person could book away money of any amount, and a second decision left no trace of the first.
-- Processes of the version before may run: they open cases, and resolve them without a proposal.
-- Locks: exclusive, for an instant, on cases, whose check is replaced and read against all of them; writes to cases wait while two
-- indexes are built, of few of them.
alter table cases.cases
  add column proposal_id uuid,
  -- JSON: the action, and whom or what it names.
  add column proposal text,
  add column proposed_by text,
  add column proposed_at timestamptz,
  -- its money is being sent back: cases.returns.
  add column returning_since timestamptz;
alter table cases.cases drop constraint cases_resolution_check;
alter table cases.cases add constraint cases_resolution_check check (resolution in
  ('credited', 'reversed', 'written_off', 'noted', 'matched', 'booked_to_fees', 'returned', 'gone'));
alter table cases.cases add constraint cases_proposal_check
  check ((proposal_id is null) = (proposal is null) and (proposal_id is null) = (proposed_by is null)
    and (proposal_id is null) = (proposed_at is null));
create index cases_proposed on cases.cases (proposed_at, id) where proposal_id is not null;
-- movements of the ledger that no entry of a bank has caused.
create index cases_reversed on cases.cases (connector, currency, resolved_at) where resolution = 'reversed';

-- Who decided what, when and why. Rows are added only: no statement of the service changes or deletes one.
create table cases.decisions (
  partner_id uuid not null,
  case_id uuid not null,
  -- from 1 in each case, without gaps.
  sequence integer not null check (sequence > 0),
  kind text not null check (kind in ('proposed', 'replaced', 'withdrawn', 'rejected', 'expired', 'approved', 'noted', 'gone',
    'return_refused', 'return_rejected', 'return_booked')),
  -- a person, or the part of the service that decided by itself.
  actor text not null,
  proposal_id uuid,
  action text,
  note text not null,
  -- JSON of the case as it stood.
  before text not null,
  after text not null,
  decided_at timestamptz not null,
  primary key (partner_id, case_id, sequence),
  foreign key (partner_id, case_id) references cases.cases (partner_id, id)
);
select public.shard('cases.decisions');

-- Money of cases on its way back to who sent it: an instruction of the connector each.
create table cases.returns (
  partner_id uuid not null,
  -- the instruction's id at the bank, and the id of the proposal that was approved.
  id uuid not null,
  case_id uuid not null,
  connector text not null,
  currency text not null,
  amount bigint not null check (amount > 0),
  creditor_name text not null,
  creditor_account text not null,
  creditor_bic text,
  remittance text not null,
  status text not null check (status in ('Due', 'Sent', 'Refused', 'Rejected', 'Returned', 'Booked')),
  attempts integer not null check (attempts >= 0),
  -- when it is due, or when the lease of an attempt ends; null: it is at the bank, or has ended.
  due_at timestamptz,
  lease_id uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (partner_id, id),
  foreign key (partner_id, case_id) references cases.cases (partner_id, id)
);
create index returns_due on cases.returns (connector, due_at, id) where due_at is not null;
select public.shard('cases.returns');
