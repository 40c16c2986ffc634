-- When a credential was last used, and which one it replaces.
-- Why: an operator who rotates keys must see whether the old one is still in use before it ends.
-- `last_used_at` is written at most once a minute for each credential, after the request and outside its transaction.
-- Processes of the version before do not write the columns, so that both versions may run.
-- Locks: exclusive, for an instant, on the service accounts.

alter table access.service_accounts add column last_used_at timestamptz;
alter table access.service_accounts add column replaces uuid;
