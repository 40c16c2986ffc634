-- The ledger: double entry by transfers (service/src/ledger/README.md). Transfers have no foreign key to accounts: accounts are never deleted, the
-- same transaction has read them by a unique key, and a check of the key would cost a lookup and a row lock for each transfer. Nor have they an index
-- by party, which each payment would write: the loop that writes checkpoints of accounts also writes those of the parties.
-- Locks: none, everything is new.

create schema ledger;

create table ledger.accounts (
  partner_id uuid not null references access.partners (id), id uuid not null,
  name text not null, -- balance: the partner's money. settlement.<connector>, suspense, fees, fx: the partner's copy of a system account.
  currency text not null,
  posted bigint not null, -- credits minus debits. A settlement account is below zero, because it is debited when money comes in.
  reserved bigint not null check (reserved >= 0), -- by reserves that are neither posted nor released.
  created_at timestamptz not null,
  controlled boolean, -- true: the operator has rules for what leaves it. Accepting a payout reads this row anyway.
  state text constraint accounts_state check (state in ('BlockedInbound', 'BlockedOutbound', 'Blocked', 'Closed')), -- null: active.
  -- null: 0. Changes of the state of the balance or of the partner's customers, erasures included: a payment that was judged before one does not
  -- commit.
  blocks integer constraint accounts_judged_by_state check (blocks >= 0),
  controls_changed integer, -- changes of these rules: a process that sees another count reads them again.
  segregated boolean, -- null: pooled.
  primary key (partner_id, id),
  unique (partner_id, name, currency),
  constraint accounts_closed_is_empty check (state <> 'Closed' or (posted = 0 and reserved = 0)),
  constraint accounts_never_negative check (name not in ('balance', 'parts') or posted >= reserved)
);
select public.shard('ledger.accounts');
create index accounts_of_connectors on ledger.accounts (name, currency) where name like 'settlement.%';
create index accounts_suspense on ledger.accounts (currency) where name = 'suspense';

create table ledger.transfers (
  partner_id uuid not null, id uuid not null,
  -- direct moves posted money; reserve sets it aside; post and release end a reserve.
  kind text not null check (kind in ('direct', 'reserve', 'post', 'release')),
  debit_account_id uuid not null, credit_account_id uuid not null,
  currency text not null, amount bigint not null check (amount > 0),
  party_id uuid not null, -- whose money moves: a customer's id, or the partner's own.
  reference text not null,
  reserve_id uuid,
  created_at timestamptz not null,
  entry_id uuid, -- null: the only transfer of its entry. The ids of several follow that of their entry.
  primary key (partner_id, id),
  foreign key (partner_id, reserve_id) references ledger.transfers (partner_id, id),
  check (debit_account_id <> credit_account_id),
  check ((kind in ('post', 'release')) = (reserve_id is not null))
);
select public.shard('ledger.transfers');
create unique index transfers_reserve_ends_once on ledger.transfers (partner_id, reserve_id) where reserve_id is not null; -- A reserve ends once.

-- How far the checkpoints of a partner reach. A process that continues them locks the row.
create table ledger.checkpoint_progress (
  partner_id uuid not null references access.partners (id),
  position uuid not null, -- the last transfer that they cover.
  differs boolean not null, -- checkpoints and transfers did not add up to the accounts: the checkpoints are made again.
  party_position uuid, -- the end of the last stretch with checkpoints of parties. Null: none.
  primary key (partner_id)
);
select public.shard('ledger.checkpoint_progress');

-- The sums of an account at the end of a stretch of a thousand transfers of its partner, so that a past balance is read without the history.
create table ledger.checkpoints (
  partner_id uuid not null,
  position uuid not null, -- the last transfer of the stretch, and the one before its first.
  account_id uuid not null, stretch_after uuid not null,
  lines integer not null check (lines >= 0), -- how many transfers of the stretch changed the posted sum of the account.
  posted bigint not null, reserved bigint not null,
  primary key (partner_id, position, account_id)
);
select public.shard('ledger.checkpoints');
create index checkpoints_by_account on ledger.checkpoints (partner_id, account_id, position);

-- The sums of one party on a balance, at the ends of the stretches in which its money moved.
create table ledger.party_checkpoints (
  partner_id uuid not null,
  party_id uuid not null, -- a customer, or the partner itself.
  account_id uuid not null, -- an account `balance`.
  position uuid not null, -- the last transfer of the stretch, and the one before its first.
  stretch_after uuid not null,
  lines integer not null check (lines >= 0), -- how many transfers of the stretch moved posted money of the account for the party.
  posted bigint not null, -- of all transfers of the party up to the position.
  reserved bigint not null,
  primary key (partner_id, party_id, account_id, position)
);
select public.shard('ledger.party_checkpoints');

-- Subsidiary accounts of segregated balances, which change under the lock of the balance (decision 0095).
create table ledger.party_accounts (
  partner_id uuid not null references access.partners (id),
  account_id uuid not null, -- the balance.
  party_id uuid not null, -- a customer, or the partner's own id.
  posted bigint not null, reserved bigint not null,
  primary key (partner_id, account_id, party_id),
  constraint party_accounts_never_negative check (posted >= reserved and reserved >= 0)
);
select public.shard('ledger.party_accounts');
