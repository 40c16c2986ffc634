-- Chain connectors: token transfers that we send, credits that we have seen, and how far each chain was read. Besides them
-- the simulated chain of the sandbox.
-- Why: what was signed must survive a kill, so that it is sent again and never replaced by a second payment.
-- What belongs to a connector as a whole (keys, nonces, blocks) is replicated, because it belongs to no partner.
-- Processes of the version before may run: they have no chain connector.
-- Locks: none on existing data; everything here is new.

create table rails.chain_keys (
  -- `addresses`, or `sender`.
  name text not null primary key,
  -- the extended public key (BIP-32) of the addresses, or the address of the sender.
  public_key text not null,
  secret_sealed bytea not null,
  created_at timestamptz not null
);
select public.replicate('rails.chain_keys');

-- The next nonce of an account that sends. Its row is locked while nonces are given.
create table rails.chain_senders (
  connector text not null,
  address text not null,
  next_nonce bigint not null check (next_nonce >= 0),
  primary key (connector, address)
);
select public.replicate('rails.chain_senders');

-- Which instruction has which nonce: each nonce is given once, and an instruction has one.
create table rails.chain_nonces (
  connector text not null,
  address text not null,
  nonce bigint not null check (nonce >= 0),
  instruction_id uuid not null,
  primary key (connector, address, nonce),
  constraint chain_nonces_instruction unique (connector, instruction_id)
);
select public.replicate('rails.chain_nonces');

create table rails.chain_transfers (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  connector text not null,
  end_to_end_id text not null,
  creditor_name text not null,
  recipient text not null,
  currency text not null,
  amount bigint not null check (amount > 0),
  -- the data of the travel rule on both sides, as JSON, sealed: it has names and addresses of customers.
  travel_rule_sealed bytea not null,
  sender text not null,
  nonce bigint,
  gas bigint,
  status text not null check (status in ('Refused', 'Pending', 'Settled', 'Failed')),
  -- the end that was reported last. After a deep reorganisation the status may be Pending again.
  reported text check (reported in ('Settled', 'Failed')),
  error_key text,
  error_details text,
  reason_code text,
  transaction_hash text,
  mined_block bigint,
  -- when the newest attempt was sent to the nodes.
  sent_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (partner_id, id),
  check ((status = 'Refused') = (nonce is null))
);
create index chain_transfers_open on rails.chain_transfers (connector, nonce) where status = 'Pending';
create index chain_transfers_mined on rails.chain_transfers (connector, mined_block) where mined_block is not null;
select public.shard('rails.chain_transfers');

-- Every signed transaction of a transfer: the first one, and each replacement with the same nonce and higher fees.
create table rails.chain_attempts (
  partner_id uuid not null,
  transfer_id uuid not null,
  attempt integer not null check (attempt > 0),
  hash text not null,
  signed text not null,
  fee_max bigint not null,
  fee_priority bigint not null,
  made_at timestamptz not null,
  primary key (partner_id, transfer_id, attempt),
  foreign key (partner_id, transfer_id) references rails.chain_transfers (partner_id, id)
);
create index chain_attempts_hash on rails.chain_attempts (hash);
select public.shard('rails.chain_attempts');

-- How far a chain was read, and the highest block that its nodes have shown.
create table rails.chain_cursors (
  connector text not null primary key,
  block_number bigint not null,
  block_hash text not null,
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

-- Tokens that reached or left an address of ours without an instruction.
create table rails.chain_credits (
  -- the owner of the address, or the operator's own id, who may not be a partner.
  partner_id uuid not null,
  id uuid not null,
  connector text not null,
  currency text not null,
  -- below zero: tokens that left.
  amount bigint not null check (amount <> 0),
  account text not null,
  counterparty text not null,
  transaction_hash text not null,
  block_number bigint not null,
  status text not null check (status in ('Seen', 'Small', 'Booked', 'Doubted', 'Reversed')),
  -- how often it was booked.
  bookings integer not null check (bookings >= 0),
  created_at timestamptz not null,
  primary key (partner_id, id)
);
create index chain_credits_by_block on rails.chain_credits (connector, block_number) where status in ('Seen', 'Small', 'Booked', 'Doubted');
create index chain_credits_by_account on rails.chain_credits (partner_id, account);
select public.shard('rails.chain_credits');

create table rails.chain_notifications (
  partner_id uuid not null,
  id uuid not null,
  connector text not null,
  subject_id uuid not null,
  kind text not null,
  payload text not null,
  due_at timestamptz not null,
  primary key (partner_id, id)
);
create index chain_notifications_due on rails.chain_notifications (connector, due_at, id);
select public.shard('rails.chain_notifications');

-- The simulated chain of the sandbox: its blocks and its transfers.
create table rails.sandbox_blocks (
  number bigint not null primary key,
  hash text not null,
  parent_hash text not null,
  made_at timestamptz not null
);
select public.replicate('rails.sandbox_blocks');

create table rails.sandbox_chain_transfers (
  hash text not null primary key,
  currency text not null,
  sender text not null,
  recipient text not null,
  amount bigint not null check (amount > 0),
  -- null: a simulated deposit, which has no signature.
  nonce bigint,
  -- who simulated it; null: a transaction of ours.
  simulated_by uuid,
  -- null: it waits for a block.
  block_number bigint,
  received_at timestamptz not null
);
create index sandbox_chain_transfers_block on rails.sandbox_chain_transfers (block_number);
create index sandbox_chain_transfers_nonce on rails.sandbox_chain_transfers (sender, nonce) where nonce is not null;
select public.replicate('rails.sandbox_chain_transfers');
