-- Checkout sessions: the page of a deposit that awaits payment. A session has no status of its own: it is read from its deposit, so that the two
-- cannot differ.
-- Locks: none, everything is new.

create schema checkout;

create table checkout.sessions (
  partner_id uuid not null references access.partners (id), id uuid not null,
  deposit_id uuid not null, customer_id uuid not null,
  token_hash bytea not null check (length(token_hash) = 32), -- SHA-256 of the token in the link, and the token itself, sealed.
  token_sealed bytea not null,
  creditor_reference text not null check (creditor_reference ~ '^RF[0-9]{2}[A-Z0-9]{1,21}$'),
  payee text not null, iban text not null, bic text,
  payment_country text check (payment_country ~ '^[A-Z]{2}$'),
  residence_country text check (residence_country ~ '^[A-Z]{2}$'),
  return_url text,
  created_at timestamptz not null,
  description text, -- what the payer pays for. Null: none, or the customer was erased.
  line_items jsonb,
  primary key (partner_id, id),
  constraint sessions_deposit unique (partner_id, deposit_id),
  constraint sessions_token unique (partner_id, token_hash),
  constraint sessions_creditor_reference unique (partner_id, creditor_reference)
);
select public.shard('checkout.sessions');
create index sessions_by_customer on checkout.sessions (partner_id, customer_id, id);

-- An address by which a session named its customer. Its lock keeps two requests from creating the customer twice.
create table checkout.payer_emails (
  partner_id uuid not null references access.partners (id),
  email text not null check (email = lower(email)),
  created_at timestamptz not null,
  primary key (partner_id, email)
);
select public.shard('checkout.payer_emails');

-- What a payer does on the bank page of the sandbox. A payer decides once, however many tabs are open.
create table checkout.sandbox_visits (
  partner_id uuid not null references access.partners (id),
  session_id uuid not null,
  ip_address text not null,
  bank_country text not null check (bank_country ~ '^[A-Z]{2}$'),
  started_at timestamptz not null,
  payer_name text,
  decision text check (decision in ('approved', 'rejected')), decided_at timestamptz,
  primary key (partner_id, session_id),
  check ((decision is null) = (decided_at is null)),
  check (decision is null or payer_name is not null)
);
select public.shard('checkout.sandbox_visits');

-- Name, logo and colours on payment pages. The service has checked the contrast of the colours and the bytes of the logo.
create table checkout.branding (
  partner_id uuid not null references access.partners (id),
  name text check (length(name) between 1 and 140),
  colour text check (colour ~ '^#[0-9a-f]{6}$'), colour_dark text check (colour_dark ~ '^#[0-9a-f]{6}$'),
  logo bytea check (length(logo) between 1 and 65536), logo_type text check (logo_type in ('image/png', 'image/svg+xml')),
  updated_at timestamptz not null,
  -- as documents draw it: a few pixels, made once. Null beside a digest: it cannot be drawn.
  drawn_logo bytea constraint branding_drawn_logo check (length(drawn_logo) between 1 and 262144),
  drawn_from bytea constraint branding_drawn_from check (length(drawn_from) = 32), -- SHA-256 of the logo that was drawn.
  primary key (partner_id),
  constraint branding_logo_has_type check ((logo is null) = (logo_type is null))
);
select public.shard('checkout.branding');

-- A refund is a payout to the account that paid, and has its id.
create table checkout.refunds (
  partner_id uuid not null, id uuid not null,
  session_id uuid not null,
  reason text check (char_length(reason) <= 255), -- of the partner. Null: none, or the customer was erased.
  created_at timestamptz not null,
  part_id uuid, -- the part that it sends back. Null: the session takes one payment.
  primary key (partner_id, id),
  foreign key (partner_id, session_id) references checkout.sessions (partner_id, id)
);
select public.shard('checkout.refunds');
create index refunds_of_session on checkout.refunds (partner_id, session_id, id);
