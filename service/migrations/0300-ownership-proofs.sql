-- Proofs of who controls a wallet that no provider keeps (Regulation (EU) 2023/1113, articles 14(5) and 16(2)): the message, and the
-- signature that the wallet made over it, are the evidence. A wallet that a provider keeps is declared with its name instead.
-- Locks: none on tables that exist.
create table wallets.ownership_proofs (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  -- for whose payments the wallet proves it; null: for those of the partner itself.
  customer_id uuid,
  -- lower case; the check sum of EIP-55 is added when it is shown.
  address text not null check (address ~ '^0x[0-9a-f]{40}$'),
  status text not null check (status in ('Requested', 'Proved', 'Declared')),
  -- the text to sign, exactly as it was given out; null: the wallet is declared.
  message text,
  signature text,
  -- the provider that keeps the wallet.
  vasp text,
  created_at timestamptz not null,
  expires_at timestamptz,
  proved_at timestamptz,
  primary key (partner_id, id),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id),
  check ((status = 'Declared') = (vasp is not null)),
  check ((status = 'Declared') = (message is null)),
  check ((status = 'Declared') = (expires_at is null)),
  check ((status = 'Proved') = (signature is not null)),
  check ((status = 'Requested') = (proved_at is null))
);
-- What is known of an address, for a payment.
create index ownership_proofs_by_address on wallets.ownership_proofs (partner_id, address);
-- The proofs of a customer, newest first.
create index ownership_proofs_by_customer on wallets.ownership_proofs (partner_id, customer_id, id);
select public.shard('wallets.ownership_proofs');
