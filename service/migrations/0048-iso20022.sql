-- Banks by files of ISO 20022: instructions on their way, files out, messages in, statements and their entries, recalls.
-- Why: what was handed to a bank, and what it has said, must survive a kill; and reconciliation needs every entry of the bank.
-- What belongs to a bank as a whole is replicated. Entries are many: they stand in the operator's own ledger, on one shard.
-- Processes of the version before may run: they have no such connector, and open no case of the new kinds.
-- Locks: exclusive, for an instant, on cases, whose check is replaced and read against all of them.
alter table cases.cases drop constraint cases_kind_check;
alter table cases.cases add constraint cases_kind_check
  check (kind in ('unknown_payment', 'contradiction', 'amount_differs', 'credit_reversed', 'bank_fee', 'doubled',
    'unknown_debit', 'file_unreadable', 'file_refused', 'message_differs', 'statement_gap', 'statement_overlap',
    'sum_differs', 'payment_missing', 'foreign_currency', 'entry_unclear', 'unexplained'));

create table rails.iso_instructions (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  connector text not null,
  end_to_end_id text not null,
  currency text not null,
  amount bigint not null check (amount > 0),
  creditor_name text not null,
  creditor_account text not null,
  creditor_bic text,
  remittance text,
  -- how it was asked to go, how it goes, and why it does not go as it was asked to.
  scheme_requested text not null check (scheme_requested in ('Instant', 'CreditTransfer')),
  scheme_applied text not null check (scheme_applied in ('Instant', 'CreditTransfer')),
  scheme_reason text,
  -- Refused: never goes. Queued: waits for its window. Filed: in a file. Accepted: the bank has said that it has it. Settled: the bank
  -- has paid it, or booked it. Rejected, Returned: ends.
  status text not null check (status in ('Refused', 'Queued', 'Filed', 'Accepted', 'Settled', 'Rejected', 'Returned')),
  -- which try of a scheme: a second one follows a refusal that allows it, under another instruction id at the bank.
  attempt integer not null check (attempt > 0),
  -- when its window opens.
  due_at timestamptz not null,
  -- of rails.iso_files, and the batch (PmtInfId) within it.
  file_id uuid,
  batch_id text,
  error_key text,
  error_details text,
  reason_code text,
  -- the entry of rails.iso_entries that debited it; null while the bank has not booked it.
  entry_id uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- when the bank last said that it has it, or has paid it.
  settled_at timestamptz,
  -- since when a case says that the bank keeps silent about it.
  missing_since timestamptz,
  primary key (partner_id, id)
) with (fillfactor = 80);
create index iso_instructions_queued on rails.iso_instructions (connector, due_at, id) where status = 'Queued';
create index iso_instructions_open on rails.iso_instructions (connector, updated_at) where status in ('Filed', 'Accepted');
-- paid by the bank's word, and not booked yet.
create index iso_instructions_unbooked on rails.iso_instructions (connector, settled_at) where status = 'Settled' and entry_id is null;
create index iso_instructions_by_id on rails.iso_instructions (id);
create index iso_instructions_by_end_to_end on rails.iso_instructions (end_to_end_id);
create index iso_instructions_by_batch on rails.iso_instructions (connector, batch_id) where batch_id is not null;
select public.shard('rails.iso_instructions');

-- Files that we make. Their bytes follow from their rows, and sha256 says that they do.
create table rails.iso_files (
  id uuid primary key,
  connector text not null,
  -- pain.001, camt.055
  kind text not null,
  message_id text not null,
  name text not null,
  sha256 text not null,
  bytes bigint not null,
  payments bigint not null,
  -- decimal text: the control sum.
  control_sum text not null,
  -- Made: nothing is at the bank. Staged: whole under a temporary name, so that only its renaming is left. Delivered: renamed.
  state text not null check (state in ('Made', 'Staged', 'Delivered')),
  staged_name text,
  -- who delivers it now, and until when no other may.
  lease_id uuid,
  leased_until timestamptz,
  made_at timestamptz not null,
  delivered_at timestamptz,
  -- the bank's answer to the whole file (GrpSts), if it gave one.
  bank_status text,
  constraint iso_files_message unique (connector, message_id),
  check ((state = 'Made') = (staged_name is null))
);
create index iso_files_undelivered on rails.iso_files (connector, made_at) where state <> 'Delivered';
select public.replicate('rails.iso_files');

-- Messages of the bank.
create table rails.iso_messages (
  id uuid primary key,
  connector text not null,
  -- pain.002, camt.052, camt.053, camt.054, camt.029; null: it is none that can be told.
  kind text,
  message_id text,
  file_name text not null,
  sha256 text not null,
  bytes bigint not null,
  -- Taking: its entries are being written. Taken: all of them are. Repeated: the same bytes as another one. Aside: not taken, with a case.
  state text not null check (state in ('Taking', 'Taken', 'Repeated', 'Aside')),
  -- entries that are written, so that a restart goes on behind them.
  entries bigint not null check (entries >= 0),
  problem text,
  received_at timestamptz not null,
  taken_at timestamptz
);
create unique index iso_messages_once on rails.iso_messages (connector, kind, message_id) where state in ('Taking', 'Taken');
create index iso_messages_by_hash on rails.iso_messages (connector, sha256);
create index iso_messages_received on rails.iso_messages (connector, received_at);
select public.replicate('rails.iso_messages');

-- Statements (camt.053), reports of the day (camt.052) and notifications (camt.054) of one account within a message.
create table rails.iso_statements (
  id uuid primary key,
  connector text not null,
  message_id uuid not null references rails.iso_messages (id),
  kind text not null check (kind in ('camt.052', 'camt.053', 'camt.054')),
  -- IBAN, or the bank's own number.
  account text not null,
  currency text not null,
  statement_id text not null,
  sequence bigint,
  -- minor units, below zero: a debit balance; null: the message has none.
  opening bigint,
  closing bigint,
  opening_on date,
  closing_on date,
  entries bigint not null,
  credits bigint not null,
  debits bigint not null,
  created_at timestamptz not null
);
create index iso_statements_of_account on rails.iso_statements (connector, account, currency, kind, closing_on, sequence);
select public.replicate('rails.iso_statements');

-- Booked entries of our accounts at the bank, each once, whichever messages report it: one row for each payment of an entry.
create table rails.iso_entries (
  -- the operator's own id.
  partner_id uuid not null,
  id uuid not null,
  connector text not null,
  account text not null,
  currency text not null,
  -- the bank's reference and the position of the payment below it, or a digest of what the entry says and its number among equal ones.
  entry_key text not null,
  -- below zero: money that left.
  amount bigint not null check (amount <> 0),
  booked_on date not null,
  value_on date,
  -- of rails.iso_messages: where it was seen first; of rails.iso_statements: the camt.053 that has it, null: none yet.
  message_id uuid not null,
  statement_id uuid,
  position bigint not null,
  is_reversal boolean not null,
  -- the payments that a batch sums up; 1: it is one payment.
  payments bigint not null check (payments > 0),
  -- domain, family and sub-family, joined by `/`; or the bank's own code.
  codes text not null,
  -- JSON: the references (EndToEndId and others), the other party, the charges.
  refs text not null,
  counterparty text not null,
  remittance text,
  return_reason text,
  -- what it was taken for; waiting: a batch whose payments another message will name.
  kind text not null check (kind in ('payout', 'return', 'credit', 'reversal', 'fee', 'unknown', 'waiting')),
  -- the instruction, credit or recall that it was matched with, and whose it is.
  subject_id uuid,
  subject_partner_id uuid,
  -- how sure the match is: 0 to 100, and JSON with what agreed and what did not.
  score integer not null check (score between 0 and 100),
  matched_by text not null,
  -- New: the ledger does not have it. Applied: it does (or a case has it in suspense).
  status text not null check (status in ('New', 'Applied')),
  created_at timestamptz not null,
  applied_at timestamptz,
  primary key (partner_id, id),
  constraint iso_entries_key unique (partner_id, connector, account, currency, entry_key)
) with (fillfactor = 80);
create index iso_entries_new on rails.iso_entries (partner_id, connector, account, currency, created_at) where status = 'New';
create index iso_entries_not_on_statement on rails.iso_entries (partner_id, connector, account, currency, created_at) where statement_id is null;
create index iso_entries_of_statement on rails.iso_entries (partner_id, statement_id, position) where statement_id is not null;
create index iso_entries_of_message on rails.iso_entries (partner_id, message_id, position);
create index iso_entries_of_subject on rails.iso_entries (partner_id, subject_id) where subject_id is not null;
select public.shard('rails.iso_entries');

-- What the connector reports to settlement, until it is acknowledged.
create table rails.iso_notifications (
  partner_id uuid not null,
  id uuid not null,
  connector text not null,
  subject_id uuid not null,
  kind text not null,
  payload text not null,
  -- of rails.iso_entries: it is applied when the notification is acknowledged.
  entry_id uuid,
  due_at timestamptz not null,
  primary key (partner_id, id)
);
create index iso_notifications_due on rails.iso_notifications (connector, due_at, id);
select public.shard('rails.iso_notifications');

-- Requests to take payments back, and what the other bank answered.
create table rails.iso_recalls (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  connector text not null,
  instruction_id uuid not null,
  reason text not null,
  requested_by text not null,
  status text not null check (status in ('Queued', 'Sent', 'Pending', 'Accepted', 'Refused', 'Returned')),
  file_id uuid,
  answer_code text,
  answer_details text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (partner_id, id),
  constraint iso_recalls_one unique (partner_id, instruction_id)
);
create index iso_recalls_queued on rails.iso_recalls (connector, created_at) where status = 'Queued';
create index iso_recalls_by_id on rails.iso_recalls (id);
select public.shard('rails.iso_recalls');
