-- Rails: blockchains. Token transfers that the service sends, credits that it has seen, and how far it has read each chain. What was signed must
-- survive a kill, so that it is sent again and never replaced by a second payment. Keys, nonces and blocks belong to a connector and to no partner:
-- they are replicated.
-- Locks: none, everything is new.

create table rails.chain_keys (
  name text not null primary key, -- `addresses` or `sender`.
  public_key text not null, -- the extended public key (BIP-32) of the addresses, or the address of the sender.
  secret_sealed bytea not null,
  created_at timestamptz not null
);
select public.replicate('rails.chain_keys');

-- The next nonce of an account that sends. The row is locked while nonces are given.
create table rails.chain_senders (
  connector text not null, address text not null,
  next_nonce bigint not null check (next_nonce >= 0),
  primary key (connector, address)
);
select public.replicate('rails.chain_senders');

-- A nonce is given once, and an instruction has one.
create table rails.chain_nonces (
  connector text not null, address text not null,
  nonce bigint not null check (nonce >= 0),
  instruction_id uuid not null,
  primary key (connector, address, nonce),
  constraint chain_nonces_instruction unique (connector, instruction_id)
);
select public.replicate('rails.chain_nonces');

create table rails.chain_transfers (
  partner_id uuid not null references access.partners (id), id uuid not null,
  connector text not null, end_to_end_id text not null, creditor_name text not null, recipient text not null,
  currency text not null, amount bigint not null check (amount > 0),
  travel_rule_sealed bytea not null, -- JSON: the data of the travel rule on both sides, with names and addresses of customers.
  sender text not null,
  nonce bigint, gas bigint,
  status text not null check (status in ('Refused', 'Pending', 'Settled', 'Failed')),
  -- the end that was reported last. After a deep reorganisation the status may be Pending again.
  reported text check (reported in ('Settled', 'Failed')),
  error_key text, error_details text, reason_code text, transaction_hash text,
  mined_block bigint,
  sent_at timestamptz, -- when the newest attempt was sent to the nodes.
  created_at timestamptz not null, updated_at timestamptz not null,
  primary key (partner_id, id),
  check ((status = 'Refused') = (nonce is null))
);
select public.shard('rails.chain_transfers');
create index chain_transfers_open on rails.chain_transfers (connector, nonce) where status = 'Pending';
create index chain_transfers_mined on rails.chain_transfers (connector, mined_block) where mined_block is not null;

-- Signed transactions of a transfer: the first one, and replacements with the same nonce and higher fees.
create table rails.chain_attempts (
  partner_id uuid not null,
  transfer_id uuid not null,
  attempt integer not null check (attempt > 0),
  hash text not null, signed text not null,
  fee_max bigint not null, fee_priority bigint not null,
  made_at timestamptz not null,
  primary key (partner_id, transfer_id, attempt),
  foreign key (partner_id, transfer_id) references rails.chain_transfers (partner_id, id)
);
select public.shard('rails.chain_attempts');
create index chain_attempts_hash on rails.chain_attempts (hash);

-- How far a chain was read, and the highest block that its nodes have shown.
create table rails.chain_cursors (
  connector text not null primary key,
  block_number bigint not null, block_hash text not null,
  head_seen bigint not null
);
select public.replicate('rails.chain_cursors');

-- The newest blocks that were read, by which a reorganisation is found.
create table rails.chain_blocks (
  connector text not null,
  number bigint not null,
  hash text not null,
  primary key (connector, number)
);
select public.replicate('rails.chain_blocks');

-- Tokens that reached or left an address of the service without an instruction.
create table rails.chain_credits (
  partner_id uuid not null, -- the owner of the address, or the operator's own id, which may have no partner.
  id uuid not null,
  connector text not null, currency text not null,
  amount bigint not null check (amount <> 0), -- below zero: tokens that left.
  account text not null, counterparty text not null, transaction_hash text not null,
  block_number bigint not null,
  status text not null check (status in ('Seen', 'Small', 'Booked', 'Doubted', 'Reversed')),
  bookings integer not null check (bookings >= 0), -- how often it was booked.
  created_at timestamptz not null,
  primary key (partner_id, id)
);
select public.shard('rails.chain_credits');
create index chain_credits_by_block on rails.chain_credits (connector, block_number) where status in ('Seen', 'Small', 'Booked', 'Doubted');
create index chain_credits_by_account on rails.chain_credits (partner_id, account);

create table rails.chain_notifications (
  partner_id uuid not null, id uuid not null,
  connector text not null,
  subject_id uuid not null,
  kind text not null, payload text not null,
  due_at timestamptz not null,
  primary key (partner_id, id)
);
select public.shard('rails.chain_notifications');
create index chain_notifications_due on rails.chain_notifications (connector, due_at, id);

-- The simulated chain of the sandbox.
create table rails.sandbox_blocks (
  number bigint not null primary key,
  hash text not null, parent_hash text not null,
  made_at timestamptz not null
);
select public.replicate('rails.sandbox_blocks');

create table rails.sandbox_chain_transfers (
  hash text not null primary key,
  currency text not null, sender text not null, recipient text not null,
  amount bigint not null check (amount > 0),
  nonce bigint, -- null: a simulated deposit, without a signature.
  simulated_by uuid, -- null: a transaction of the service.
  block_number bigint, -- null: it waits for a block.
  received_at timestamptz not null
);
select public.replicate('rails.sandbox_chain_transfers');
create index sandbox_chain_transfers_block on rails.sandbox_chain_transfers (block_number);
create index sandbox_chain_transfers_nonce on rails.sandbox_chain_transfers (sender, nonce) where nonce is not null;
