-- Checkout sessions: the page of a deposit that awaits payment. A session has no status of its own: it is read from its
-- deposit, so that the two cannot differ. payer_emails has a row for each address by which a session named its customer; its
-- lock keeps two requests from creating the customer twice.
-- Locks: none on existing data; everything here is new.
create schema checkout;

create table checkout.sessions (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  deposit_id uuid not null,
  customer_id uuid not null,
  -- SHA-256 of the token in the link, and the token itself, sealed.
  token_hash bytea not null check (length(token_hash) = 32),
  token_sealed bytea not null,
  creditor_reference text not null check (creditor_reference ~ '^RF[0-9]{2}[A-Z0-9]{1,21}$'),
  payee text not null,
  iban text not null,
  bic text,
  payment_country text check (payment_country ~ '^[A-Z]{2}$'),
  residence_country text check (residence_country ~ '^[A-Z]{2}$'),
  return_url text,
  created_at timestamptz not null,
  primary key (partner_id, id),
  constraint sessions_deposit unique (partner_id, deposit_id),
  constraint sessions_token unique (partner_id, token_hash),
  constraint sessions_creditor_reference unique (partner_id, creditor_reference)
);
create index sessions_by_customer on checkout.sessions (partner_id, customer_id, id);
select public.shard('checkout.sessions');

create table checkout.payer_emails (
  partner_id uuid not null references access.partners (id),
  email text not null check (email = lower(email)),
  created_at timestamptz not null,
  primary key (partner_id, email)
);
select public.shard('checkout.payer_emails');
