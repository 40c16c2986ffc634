-- Wallets: the addresses on which customers and partners receive tokens. An address is given once, also over all partners, and a unique constraint
-- cannot span partners on different nodes. So the index from which an address is derived comes from one replicated row under its lock. The index of a
-- failed transaction is given again, because no caller got it as an answer.
-- Locks: none, everything is new.

create schema wallets;

create table wallets.address_indexes (
  public_key text not null primary key, -- from which the addresses are derived.
  next_index integer not null check (next_index >= 0)
);
select public.replicate('wallets.address_indexes');

create table wallets.wallets (
  partner_id uuid not null references access.partners (id), id uuid not null,
  owner_id uuid not null, -- the customer, or the partner itself.
  customer_id uuid,
  currency text not null,
  connector text not null, -- watches the address.
  chain_id bigint not null check (chain_id > 0), network text not null,
  address text not null check (address ~ '^0x[0-9a-f]{40}$'), -- lower case; the check sum of EIP-55 is added when it is shown.
  public_key text not null,
  address_index integer not null check (address_index >= 0),
  created_at timestamptz not null,
  closed_at timestamptz,
  primary key (partner_id, id),
  constraint wallets_one_per_currency unique (partner_id, owner_id, currency),
  constraint wallets_address unique (partner_id, address),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id),
  check (owner_id = coalesce(customer_id, partner_id))
);
select public.shard('wallets.wallets');
create index wallets_by_address on wallets.wallets (address); -- From an address to its partner.

-- Who controls a wallet that no provider keeps (Regulation (EU) 2023/1113, Art. 14(5) and 16(2)). Message and signature are the evidence.
create table wallets.ownership_proofs (
  partner_id uuid not null references access.partners (id), id uuid not null,
  customer_id uuid, -- null: for payments of the partner itself.
  address text not null check (address ~ '^0x[0-9a-f]{40}$'), -- as in wallets.
  status text not null check (status in ('Requested', 'Proved', 'Declared')),
  message text, -- the exact text to sign; null: the wallet is declared.
  signature text,
  vasp text, -- the provider that keeps the wallet.
  created_at timestamptz not null, expires_at timestamptz, proved_at timestamptz,
  primary key (partner_id, id),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id),
  check ((status = 'Declared') = (vasp is not null)),
  check ((status = 'Declared') = (message is null)),
  check ((status = 'Declared') = (expires_at is null)),
  check ((status = 'Proved') = (signature is not null)),
  check ((status = 'Requested') = (proved_at is null))
);
select public.shard('wallets.ownership_proofs');
create index ownership_proofs_by_address on wallets.ownership_proofs (partner_id, address);
create index ownership_proofs_by_customer on wallets.ownership_proofs (partner_id, customer_id, id);
