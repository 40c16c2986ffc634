-- Account numbers: who has which IBAN.
-- Why blocks: a number must never be given twice, also not to two partners, yet a unique constraint cannot span
-- partners that live on different nodes. So partners take blocks of 1,000 numbers off a pool, which is one small
-- replicated table under a row lock, and within a block a constraint of the partner's own suffices. An IBAN leads to
-- its partner by its block.
-- Locks: none on existing data; everything here is new.

-- The numbers of one bank code in one country: blocks below next_block belong to some partner for ever.
create table accounts.iban_pools (
  country text not null,
  bank_code text not null,
  next_block integer not null check (next_block >= 0),
  primary key (country, bank_code)
);
select public.replicate('accounts.iban_pools');

create table accounts.iban_blocks (
  partner_id uuid not null references access.partners (id),
  country text not null,
  bank_code text not null,
  block integer not null check (block >= 0),
  -- numbers of the block below this one are given out.
  next_number integer not null check (next_number between 0 and 1000),
  created_at timestamptz not null,
  primary key (partner_id, country, bank_code, block)
);
-- From an IBAN to its partner.
create index iban_blocks_owner on accounts.iban_blocks (country, bank_code, block);
select public.shard('accounts.iban_blocks');

-- A customer with IBANs; its lock lets concurrent calls for one customer take turns.
create table accounts.customer_accounts (
  partner_id uuid not null,
  customer_id uuid not null,
  created_at timestamptz not null,
  primary key (partner_id, customer_id),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id)
);
select public.shard('accounts.customer_accounts');

create table accounts.ibans (
  partner_id uuid not null,
  iban text not null,
  customer_id uuid not null,
  country text not null check (iban like country || '%'),
  created_at timestamptz not null,
  primary key (partner_id, iban),
  constraint ibans_one_per_country unique (partner_id, customer_id, country),
  foreign key (partner_id, customer_id) references accounts.customer_accounts (partner_id, customer_id)
);
select public.shard('accounts.ibans');
