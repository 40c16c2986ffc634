-- Beneficiaries: whom payouts pay, of a customer or of the partner itself (customer_id is null).
-- Why removed_at: payouts name the beneficiary for ever, so a removed one is hidden, not deleted.
-- Locks: none on existing data; everything here is new.

create table beneficiaries.beneficiaries (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  customer_id uuid,
  alias text check (alias <> ''),
  name text not null check (name <> ''),
  iban text check (iban ~ '^[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}$'),
  bic text check (bic ~ '^[A-Z0-9]{8}([A-Z0-9]{3})?$'),
  wallet_address text check (wallet_address ~ '^0x[0-9a-fA-F]{40}$'),
  country text check (country ~ '^[A-Z]{2}$'),
  currency text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null check (updated_at >= created_at),
  removed_at timestamptz,
  primary key (partner_id, id),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id),
  -- a bank account or a wallet, never both, never none.
  constraint beneficiaries_one_account check ((iban is null) <> (wallet_address is null)),
  check (bic is null or iban is not null)
);
create index beneficiaries_live on beneficiaries.beneficiaries (partner_id, id) where removed_at is null;
create index beneficiaries_by_customer on beneficiaries.beneficiaries (partner_id, customer_id, id)
  where removed_at is null;
select public.shard('beneficiaries.beneficiaries');
