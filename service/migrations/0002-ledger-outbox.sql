-- The ledger (double entry by transfers) and the outbox (events, written where the state changes).
-- Locks: none on existing data; everything here is new.

create table ledger.accounts (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  -- balance: the partner's money. settlement.<connector>, suspense, fees, fx: this partner's copy of a system account.
  name text not null,
  currency text not null,
  -- credits minus debits; a settlement account, which is debited when money comes in, stands below zero.
  posted bigint not null,
  -- set aside by reserve transfers, not yet posted or released.
  reserved bigint not null check (reserved >= 0),
  created_at timestamptz not null,
  primary key (partner_id, id),
  unique (partner_id, name, currency),
  constraint accounts_never_negative check (name <> 'balance' or posted >= reserved)
);
select public.shard('ledger.accounts');

create table ledger.transfers (
  partner_id uuid not null,
  id uuid not null,
  -- direct moves posted money; reserve sets it aside; post and release end one reserve.
  kind text not null check (kind in ('direct', 'reserve', 'post', 'release')),
  debit_account_id uuid not null,
  credit_account_id uuid not null,
  currency text not null,
  amount bigint not null check (amount > 0),
  -- whose movement it is: a customer's guid, or the partner's own id.
  party_id uuid not null,
  reference text not null,
  reserve_id uuid,
  created_at timestamptz not null,
  primary key (partner_id, id),
  foreign key (partner_id, debit_account_id) references ledger.accounts (partner_id, id),
  foreign key (partner_id, credit_account_id) references ledger.accounts (partner_id, id),
  foreign key (partner_id, reserve_id) references ledger.transfers (partner_id, id),
  check (debit_account_id <> credit_account_id),
  check ((kind in ('post', 'release')) = (reserve_id is not null)),
  -- a reserve ends once.
  constraint transfers_reserve_ends_once unique (partner_id, reserve_id)
);
create index transfers_by_reference on ledger.transfers (partner_id, reference);
create index transfers_by_party on ledger.transfers (partner_id, party_id, id);
select public.shard('ledger.transfers');

-- data is text: the exact bytes that every delivery of the event carries.
create table outbox.events (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  type text not null,
  reference text not null,
  data text not null,
  occurred_at timestamptz not null,
  primary key (partner_id, id)
);
create index events_by_reference on outbox.events (partner_id, reference, id);
select public.shard('outbox.events');

-- Events that are not yet fanned out to subscriptions: a queue beside the immutable events, emptied as it is worked.
create table outbox.pending (
  partner_id uuid not null,
  event_id uuid not null,
  primary key (partner_id, event_id),
  foreign key (partner_id, event_id) references outbox.events (partner_id, id)
);
select public.shard('outbox.pending');
