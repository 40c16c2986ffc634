-- The devices from which a person has signed in.
-- Why: a person gets a mail when a device signs in to the account for the first time, so that a stranger's sign-in is seen.
-- Processes of the version before may run: they sign people in without noting the device, which then counts as new once.
-- Locks: none on existing data; everything here is new.

create table sign_in.known_devices (
  partner_id uuid not null,
  member_id uuid not null,
  -- SHA-256 of the member and the value of the cookie, which has 256 random bits. Two accounts of one browser have different hashes.
  device_hash bytea not null check (octet_length(device_hash) = 32),
  first_used_at timestamptz not null,
  last_used_at timestamptz not null,
  primary key (partner_id, member_id, device_hash)
);
select public.shard('sign_in.known_devices');
