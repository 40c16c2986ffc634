-- Rails: banks by files of ISO 20022. Instructions, files to the bank, messages of the bank, statements, entries and recalls. What a bank has got and
-- what it has said must survive a kill, and reconciliation needs every entry of the bank. What belongs to a bank as a whole is replicated. Entries
-- are many: they have the operator's own id as partner, on one shard.
-- Locks: none, everything is new.

create table rails.iso_instructions (
  partner_id uuid not null references access.partners (id), id uuid not null,
  connector text not null, end_to_end_id text not null, currency text not null, amount bigint not null check (amount > 0),
  creditor_name text not null, creditor_account text not null, creditor_bic text, remittance text,
  -- how it was asked to go, how it goes, and why not as asked.
  scheme_requested text not null check (scheme_requested in ('Instant', 'CreditTransfer')),
  scheme_applied text not null check (scheme_applied in ('Instant', 'CreditTransfer')),
  scheme_reason text,
  -- Filed: in a file. Accepted: the bank says that it has it. Settled: the bank has paid or booked it.
  status text not null check (status in ('Refused', 'Queued', 'Filed', 'Accepted', 'Settled', 'Rejected', 'Returned')),
  -- of a scheme: a second one follows a refusal that allows it, under another instruction id at the bank.
  attempt integer not null check (attempt > 0),
  due_at timestamptz not null, -- when its window opens.
  file_id uuid, batch_id text, -- of rails.iso_files, and the batch (PmtInfId) in it.
  error_key text, error_details text, reason_code text,
  entry_id uuid, -- the debit, of rails.iso_entries; null: not booked.
  created_at timestamptz not null, updated_at timestamptz not null,
  settled_at timestamptz, -- when the bank last said that it has it, or has paid it.
  missing_since timestamptz, -- a case says that the bank is silent about it.
  payee_check text check (payee_check in ('match', 'close_match', 'no_match', 'unchecked')),
  creditor_account_type text,
  -- what its file says about the customer (Regulation (EU) 2023/1113): a file that is made again has the same bytes. Null: nothing, or erased.
  payer_sealed bytea,
  creditor_address text,
  primary key (partner_id, id)
) with (fillfactor = 80);
select public.shard('rails.iso_instructions');
create index iso_instructions_open on rails.iso_instructions (connector, updated_at) where status in ('Filed', 'Accepted');
-- Paid by the word of the bank, and not booked.
create index iso_instructions_unbooked on rails.iso_instructions (connector, settled_at) where status = 'Settled' and entry_id is null;
create index iso_instructions_by_id on rails.iso_instructions (id);
create index iso_instructions_by_end_to_end on rails.iso_instructions (end_to_end_id);
create index iso_instructions_by_batch on rails.iso_instructions (connector, batch_id) where batch_id is not null;
-- An instant payment is found without reading the credit transfers that wait for their window.
create index iso_instructions_queued_by_scheme on rails.iso_instructions (connector, scheme_applied, due_at, id) where status = 'Queued';
create index iso_instructions_by_file on rails.iso_instructions (file_id, id) where file_id is not null; -- A bank answers a whole file.
-- A return that was booked before its payment.
create index iso_instructions_returned on rails.iso_instructions (connector, updated_at) where status = 'Returned' and entry_id is null;
create index iso_instructions_by_amount on rails.iso_instructions (connector, currency, amount); -- Payments that an unknown debit or credit might be.
-- The payments of a batch that one entry has debited.
create index iso_instructions_of_entry on rails.iso_instructions (entry_id) where entry_id is not null;

-- Files to a bank. Their bytes follow from their rows, and sha256 confirms it.
create table rails.iso_files (
  id uuid primary key,
  connector text not null,
  kind text not null, -- pain.001 or camt.055.
  message_id text not null, name text not null, sha256 text not null, bytes bigint not null,
  payments bigint not null,
  control_sum text not null, -- decimal text.
  -- Staged: whole under a temporary name, only the renaming is left. Delivered: renamed.
  state text not null check (state in ('Made', 'Staged', 'Delivered')),
  staged_name text,
  lease_id uuid, leased_until timestamptz, -- who delivers it.
  made_at timestamptz not null, delivered_at timestamptz,
  bank_status text, -- GrpSts: the answer to the whole file.
  problem text,
  attempts integer not null default 0,
  message_name text not null default 'pain.001.001.09', -- by the profile of the bank.
  constraint iso_files_message unique (connector, message_id),
  check ((state = 'Made') = (staged_name is null))
);
select public.replicate('rails.iso_files');
create index iso_files_undelivered on rails.iso_files (connector, made_at) where state <> 'Delivered';
create index iso_files_newest on rails.iso_files (connector, made_at);
create index iso_files_by_name on rails.iso_files (name, made_at);
create index iso_files_by_message on rails.iso_files (message_id, made_at);

-- Messages of a bank.
create table rails.iso_messages (
  id uuid primary key,
  connector text not null,
  kind text, -- pain.002, camt.052, camt.053, camt.054, camt.029; null: unknown.
  message_id text,
  file_name text not null, sha256 text not null, bytes bigint not null,
  -- Taking: entries are being written. Repeated: the same bytes as another message. Aside: not taken, with a case.
  state text not null check (state in ('Taking', 'Taken', 'Repeated', 'Aside')),
  entries bigint not null check (entries >= 0), -- written so far: a restart goes on behind them.
  problem text,
  received_at timestamptz not null, taken_at timestamptz,
  finished_at timestamptz, -- when it was archived and left the bank's folder; null: it may be there.
  released_at timestamptz -- two persons have decided that it is taken after all.
);
select public.replicate('rails.iso_messages');
create unique index iso_messages_once on rails.iso_messages (connector, kind, message_id) where state in ('Taking', 'Taken');
create index iso_messages_by_hash on rails.iso_messages (connector, sha256);
create index iso_messages_received on rails.iso_messages (connector, received_at);
create index iso_messages_released on rails.iso_messages (connector) where released_at is not null and state = 'Aside' and taken_at is null;
create index iso_messages_aside on rails.iso_messages (connector, received_at) where state = 'Aside';
create index iso_messages_by_name on rails.iso_messages (file_name, received_at);
create index iso_messages_by_message on rails.iso_messages (message_id, received_at) where message_id is not null;

-- Statements (camt.053), reports (camt.052) and notifications (camt.054) of one account in a message.
create table rails.iso_statements (
  id uuid primary key,
  connector text not null,
  message_id uuid not null references rails.iso_messages (id),
  kind text not null check (kind in ('camt.052', 'camt.053', 'camt.054')),
  account text not null, -- IBAN, or the bank's own number.
  currency text not null, statement_id text not null,
  sequence bigint,
  opening bigint, closing bigint, -- minor units, below zero: a debit balance; null: the message has none.
  opening_on date, closing_on date,
  entries bigint not null, credits bigint not null, debits bigint not null,
  created_at timestamptz not null,
  by_value_date bigint -- how much more than its entries the balances moved, because they count by value date; null: nothing.
);
select public.replicate('rails.iso_statements');
create index iso_statements_of_account on rails.iso_statements (connector, account, currency, kind, closing_on, sequence);
create index iso_statements_by_message on rails.iso_statements (message_id, id);

-- Booked entries of accounts at the bank, each once, whichever messages report it: one row for each payment of an entry.
create table rails.iso_entries (
  partner_id uuid not null, -- the operator's own id.
  id uuid not null,
  connector text not null, account text not null, currency text not null,
  entry_key text not null, -- the bank's reference and the position of the payment, or a digest of the entry and its number among equal ones.
  amount bigint not null check (amount <> 0), -- below zero: a debit.
  booked_on date not null, value_on date,
  message_id uuid not null, -- where it was seen first.
  statement_id uuid, -- the camt.053 that has it; null: none yet.
  position bigint not null,
  is_reversal boolean not null,
  payments bigint not null check (payments > 0), -- of a batch; 1: one payment.
  codes text not null, -- domain, family and sub-family, joined by `/`; or the bank's own code.
  refs text not null, -- JSON: references (EndToEndId and others), the other party, charges.
  counterparty text not null,
  remittance text, return_reason text,
  -- waiting: a batch whose payments another message will name.
  kind text not null check (kind in ('payout', 'return', 'credit', 'reversal', 'fee', 'unknown', 'waiting')),
  subject_id uuid, subject_partner_id uuid, -- the matched instruction, credit or recall, and its partner.
  score integer not null check (score between 0 and 100), -- certainty of the match, 0 to 100; matched_by: JSON of what agreed and what did not.
  matched_by text not null,
  status text not null check (status in ('New', 'Applied')), -- Applied: the ledger has it, or a case has it in suspense.
  created_at timestamptz not null,
  applied_at timestamptz,
  booking text, -- the bank's reference of the booking, whose payments are several rows; null: none.
  end_to_end_id text, -- of a credit.
  announced smallint not null default 0, -- by messages, added up: 1 camt.052, 2 camt.054.
  absent_since timestamptz, -- a case says that its statement does not have it.
  primary key (partner_id, id),
  constraint iso_entries_key unique (partner_id, connector, account, currency, entry_key)
) with (fillfactor = 80);
select public.shard('rails.iso_entries');
create index iso_entries_new on rails.iso_entries (partner_id, connector, account, currency, created_at) where status = 'New';
create index iso_entries_not_on_statement on rails.iso_entries (partner_id, connector, account, currency, created_at) where statement_id is null;
create index iso_entries_of_statement on rails.iso_entries (partner_id, statement_id, position) where statement_id is not null;
create index iso_entries_of_subject on rails.iso_entries (partner_id, subject_id) where subject_id is not null;
create index iso_entries_by_booking on rails.iso_entries (partner_id, connector, account, currency, booking) where booking is not null;
create index iso_entries_by_end_to_end on rails.iso_entries (partner_id, connector, end_to_end_id) where end_to_end_id is not null;
create index iso_entries_waiting on rails.iso_entries (partner_id, connector, created_at) where kind = 'waiting';
create index iso_entries_unlisted on rails.iso_entries (partner_id, connector, account, currency, amount, announced, booked_on)
  where statement_id is null;
create index iso_entries_listed on rails.iso_entries (partner_id, connector, account, currency, amount, announced, booked_on)
  where statement_id is not null;

-- What the connector reports to settlement, until it is acknowledged.
create table rails.iso_notifications (
  partner_id uuid not null, id uuid not null,
  connector text not null,
  subject_id uuid not null,
  kind text not null, payload text not null,
  entry_id uuid, -- of rails.iso_entries: applied when the notification is acknowledged.
  due_at timestamptz not null,
  primary key (partner_id, id)
);
select public.shard('rails.iso_notifications');
create index iso_notifications_due on rails.iso_notifications (connector, due_at, id);

-- Requests to return payments, and the answers of banks.
create table rails.iso_recalls (
  partner_id uuid not null references access.partners (id), id uuid not null,
  connector text not null,
  instruction_id uuid not null,
  reason text not null, requested_by text not null,
  status text not null check (status in ('Queued', 'Sent', 'Pending', 'Accepted', 'Refused', 'Returned')),
  file_id uuid,
  answer_code text, answer_details text,
  created_at timestamptz not null, updated_at timestamptz not null,
  details text, -- of the partner.
  told_at timestamptz, -- when staff wrote to a bank that takes no camt.055.
  primary key (partner_id, id)
);
select public.shard('rails.iso_recalls');
create index iso_recalls_queued on rails.iso_recalls (connector, created_at) where status = 'Queued';
create index iso_recalls_by_id on rails.iso_recalls (id);
create index iso_recalls_by_file on rails.iso_recalls (file_id) where file_id is not null;
create index iso_recalls_by_instruction on rails.iso_recalls (instruction_id);
-- At most one request for a payment waits for an answer.
create unique index iso_recalls_open on rails.iso_recalls (partner_id, instruction_id) where status in ('Queued', 'Sent', 'Pending');

-- One process at a time takes the files of a bank.
create table rails.iso_incoming (
  connector text primary key,
  lease_id uuid, leased_until timestamptz
);
select public.replicate('rails.iso_incoming');

-- Payments in files of a bank that this database did not know, because it was restored to an earlier time: their payouts go into no second file.
create table rails.iso_adopted (
  connector text not null,
  instruction_id uuid not null,
  attempt integer not null check (attempt > 0),
  file_id uuid not null references rails.iso_files (id), batch_id text not null,
  primary key (connector, instruction_id, attempt)
);
select public.replicate('rails.iso_adopted');

-- Keys under which other messages named an entry.
create table rails.iso_entry_aliases (
  partner_id uuid not null,
  connector text not null, account text not null, currency text not null, entry_key text not null,
  entry_id uuid not null,
  primary key (partner_id, connector, account, currency, entry_key)
);
select public.shard('rails.iso_entry_aliases');
