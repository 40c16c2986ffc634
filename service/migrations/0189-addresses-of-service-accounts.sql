-- The addresses from which a service account may be used.
-- Why: a stolen key is worth nothing elsewhere.
-- Processes of the version before do not read the list: partners set one once none of them runs.
-- Locks: exclusive, for an instant, on the service accounts.

-- Addresses and networks (CIDR). Empty: any address.
alter table access.service_accounts add column allowed_addresses text[] not null default '{}';
