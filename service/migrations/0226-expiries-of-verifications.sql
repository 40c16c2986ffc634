-- The index of identity verifications whose document expires.
-- Why: an expiry needs no identity provider, and must not wait for one that does not answer. A job of its own reads them by their time.
-- Processes of the version before may run: they let verifications expire among the others.
-- Locks: writes to verifications wait while the table is scanned.
create index identity_verifications_expiring on customers.identity_verifications (valid_until)
  where in_force and status = 'Approved' and valid_until is not null;
