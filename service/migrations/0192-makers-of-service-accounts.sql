-- The person or service account of a partner that made a service account.
-- Why: a person could make a key and approve with it what they have made, or make with it what they approve.
-- Processes of the version before do not write the columns: what they issue was issued by the operator, as null says.
-- Locks: exclusive, for an instant, on the service accounts.

-- Null: the operator issued it. A key that a key made has the maker of that one.
alter table access.service_accounts add column issued_by uuid;
alter table access.service_accounts add column issued_by_name text;
alter table access.service_accounts add constraint service_accounts_issued_by_named
  check ((issued_by is null) = (issued_by_name is null)) not valid;
