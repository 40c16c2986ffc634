-- Wallets: the addresses on which customers and partners receive tokens.
-- Why a counter: an address must never be given twice, also not to two partners, and a unique constraint cannot span
-- partners that live on different nodes. So the index from which an address is derived is taken off one small replicated
-- row under its lock. An index whose transaction fails is given again: it was answered to no caller.
-- Processes of the version before may run: they make no wallets.
-- Locks: exclusive, for an instant, on beneficiaries, which get a nullable column.
create schema wallets;

create table wallets.address_indexes (
  -- one row for each key that addresses are derived from; the text is that public key.
  public_key text not null primary key,
  next_index integer not null check (next_index >= 0)
);
select public.replicate('wallets.address_indexes');

create table wallets.wallets (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  -- whose wallet it is: the customer, or the partner itself.
  owner_id uuid not null,
  customer_id uuid,
  currency text not null,
  -- the connector that watches the address.
  connector text not null,
  chain_id bigint not null check (chain_id > 0),
  network text not null,
  -- lower case; the check sum of EIP-55 is added when it is shown.
  address text not null check (address ~ '^0x[0-9a-f]{40}$'),
  public_key text not null,
  address_index integer not null check (address_index >= 0),
  created_at timestamptz not null,
  primary key (partner_id, id),
  constraint wallets_one_per_currency unique (partner_id, owner_id, currency),
  constraint wallets_address unique (partner_id, address),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id),
  check (owner_id = coalesce(customer_id, partner_id))
);
-- From an address to its partner.
create index wallets_by_address on wallets.wallets (address);
select public.shard('wallets.wallets');

-- The provider that keeps the wallet of a beneficiary, for the travel rule; null: the beneficiary keeps its own.
alter table beneficiaries.beneficiaries add column vasp text;
