-- The name, logo and accent colours that a partner's payment pages show. The service has checked the contrast of the colours and the bytes of the logo.
-- Locks: none on existing data; the table is new.
create table checkout.branding (
  partner_id uuid not null references access.partners (id),
  name text check (length(name) between 1 and 140),
  colour text check (colour ~ '^#[0-9a-f]{6}$'),
  colour_dark text check (colour_dark ~ '^#[0-9a-f]{6}$'),
  logo bytea check (length(logo) between 1 and 65536),
  logo_type text check (logo_type in ('image/png', 'image/svg+xml')),
  updated_at timestamptz not null,
  primary key (partner_id),
  constraint branding_logo_has_type check ((logo is null) = (logo_type is null))
);
select public.shard('checkout.branding');
