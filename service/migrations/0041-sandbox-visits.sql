-- What a payer does on the bank page of the sandbox. A payer decides once, whatever the number of tabs and clicks.
-- Locks: none on existing data; everything here is new.
create table checkout.sandbox_visits (
  partner_id uuid not null references access.partners (id),
  session_id uuid not null,
  ip_address text not null,
  bank_country text not null check (bank_country ~ '^[A-Z]{2}$'),
  started_at timestamptz not null,
  payer_name text,
  decision text check (decision in ('approved', 'rejected')),
  decided_at timestamptz,
  primary key (partner_id, session_id),
  check ((decision is null) = (decided_at is null)),
  check (decision is null or payer_name is not null)
);
select public.shard('checkout.sandbox_visits');
