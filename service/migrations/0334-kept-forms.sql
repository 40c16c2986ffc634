-- A form that meets an ended session is kept for half an hour, so that its person sends it after signing in again.
-- Locks: none, the table is new.

create table sign_in.kept_forms (
  partner_id uuid not null, id uuid not null,
  member_id uuid not null,
  -- SHA-256 of the member and the cookie of the browser, as in known_devices: another browser does not see the form.
  device_hash bytea not null check (octet_length(device_hash) = 32),
  form_sealed bytea not null check (octet_length(form_sealed) <= 2000000), -- the fields without secrets.
  expires_at timestamptz not null,
  primary key (partner_id, id)
);
select public.shard('sign_in.kept_forms');
create index kept_forms_by_member on sign_in.kept_forms (partner_id, member_id, id); -- The oldest of a person give way.
create index kept_forms_by_expiry on sign_in.kept_forms (expires_at); -- The job that deletes them.
